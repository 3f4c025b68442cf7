package tenant_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

var (
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	later = noon.Add(time.Hour)
)

func someTenant(t *testing.T) *tenant.Tenant {
	t.Helper()
	ten, err := tenant.New("tenant_1", tenant.Draft{Name: "Acme"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	return ten
}

func violations(t *testing.T, err error, code string) []domain.Violation {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code || !errors.Is(err, domain.Invalid) {
		t.Fatalf("the error is %v, not %s", err, code)
	}
	return e.Violations
}

func TestANewTenantIsActiveWithTheDefaults(t *testing.T) {
	want := tenant.State{
		ID: "tenant_1", Name: "Acme", Status: tenant.Active, Settings: tenant.Settings{Language: tenant.English},
		CreatedAt: noon, UpdatedAt: noon, Revision: 1,
	}
	ten := someTenant(t)
	if diff := cmp.Diff(want, ten.State()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, tenant.Restore(want).State()); diff != "" {
		t.Error(diff)
	}
	s := ten.Settings()
	if s.PublicTriggers() != tenant.PublicTriggersForbidden || !s.KnowsEvent("anything") ||
		s.Quota(tenant.Public) != (tenant.Quota{PerMinute: 100, Concurrent: 20}) ||
		s.Quota(tenant.Secret) != (tenant.Quota{PerMinute: 1000, Concurrent: 100}) {
		t.Errorf("the defaults are %+v", s)
	}
}

func TestRunsAreKeptAsLongAsTheirTenantSaysElseAsTheGatewayDoes(t *testing.T) {
	week := 7
	for want, s := range map[int]tenant.Settings{30: {}, 90: {DefaultRunDays: 90}, 7: {DefaultRunDays: 90, RunRetentionDays: &week}} {
		if s.KeptRunDays() != want || s.RunRetention() != time.Duration(want)*24*time.Hour {
			t.Errorf("%+v is %d days, %s", s, s.KeptRunDays(), s.RunRetention())
		}
	}
}

func TestANewTenantMayHaveLimitsOfItsOwn(t *testing.T) {
	week, ten, zero := 7, 10, 0
	d := tenant.Draft{Name: "Acme", RunRetentionDays: &week, Quotas: map[tenant.KeyType]tenant.QuotaPatch{tenant.Secret: {PerMinute: &ten}}}
	made, err := tenant.New("tenant_1", d, noon)
	if err != nil {
		t.Fatal(err)
	}
	if s := made.Settings(); s.KeptRunDays() != 7 || s.Quota(tenant.Secret) != (tenant.Quota{PerMinute: 10, Concurrent: 100}) || s.Quota(tenant.Public) != tenant.DefaultQuota(tenant.Public) {
		t.Errorf("it has %+v", s)
	}
	d.RunRetentionDays, d.Quotas[tenant.Public] = &zero, tenant.QuotaPatch{Concurrent: &zero}
	_, err = tenant.New("tenant_1", d, noon)
	want := []domain.Violation{
		{Field: "limits.public.concurrentRequests", Code: domain.TooSmall, Message: "must be at least 1, not 0"},
		{Field: "limits.runRetentionDays", Code: domain.TooSmall, Message: "must be at least 1, not 0"},
	}
	if diff := cmp.Diff(want, violations(t, err, "tenant_invalid")); diff != "" {
		t.Error(diff)
	}
}

func TestATenantReportsEverythingThatIsWrongAtOnce(t *testing.T) {
	german := tenant.Language("de")
	_, err := tenant.New("tenant_1", tenant.Draft{Name: strings.Repeat("é", 256), Language: &german}, noon)
	want := []domain.Violation{
		{Field: "name", Code: domain.TooLong, Message: "must be at most 255 characters long, not 256"},
		{Field: "language", Code: domain.NotAllowed, Message: `must be one of "en", "pt-BR" or "es", not "de"`},
	}
	if diff := cmp.Diff(want, violations(t, err, "tenant_invalid")); diff != "" {
		t.Error(diff)
	}
}

func TestSuspendingAndResumingMayBeRepeated(t *testing.T) {
	ten := someTenant(t)
	ten.Suspend(later)
	ten.Suspend(later.Add(time.Hour))
	if ten.Status() != tenant.Suspended || !ten.UpdatedAt().Equal(later) {
		t.Errorf("suspended twice: %s at %s", ten.Status(), ten.UpdatedAt())
	}
	ten.Resume(later)
	if ten.Status() != tenant.Active {
		t.Errorf("resumed: %s", ten.Status())
	}
}

func TestARefusedChangeLeavesTheTenantAsItWas(t *testing.T) {
	ten := someTenant(t)
	before := ten.State()
	knows := func(name string) bool { return name == "wait" }
	err := ten.Configure(tenant.Settings{
		Language:              "xx",
		DisabledNodeTypes:     []string{"wait", "nothing", "wait"},
		PublicTriggerCreation: "often",
		TriggersOnPublish:     "copy",
		Events:                []tenant.Event{{Name: "paid"}, {Name: ""}, {Name: "paid", Label: "a\x00b"}},
		Quotas:                map[tenant.KeyType]tenant.Quota{tenant.Public: {PerMinute: 0, Concurrent: 2_000_000}},
		RunRetentionDays:      new(int),
	}, knows, later)
	var fields []string
	for _, v := range violations(t, err, "settings_invalid") {
		fields = append(fields, v.Field+" "+string(v.Code))
	}
	want := []string{
		"language not_allowed", "publicTriggerCreation not_allowed", "triggersOnPublish not_allowed", "disabledNodeTypes[1] unknown", "disabledNodeTypes[2] duplicate",
		"events[1].name required", "events[2].label bad_character", "events[2].name duplicate",
		"limits.public.requestsPerMinute too_small", "limits.public.concurrentRequests too_large",
		"limits.runRetentionDays too_small",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, ten.State()); diff != "" {
		t.Errorf("the tenant changed: %s", diff)
	}
}

func TestSettingsAreNotSharedWithTheirReader(t *testing.T) {
	ten := someTenant(t)
	days := 7
	sent := tenant.Settings{
		RunRetentionDays: &days,
		Language:         tenant.Spanish, DisabledNodeTypes: []string{"wait"}, Events: []tenant.Event{{Name: "paid"}},
		Quotas: map[tenant.KeyType]tenant.Quota{tenant.Secret: {PerMinute: 5, Concurrent: 1}},
	}
	if err := ten.Configure(sent, func(string) bool { return true }, later); err != nil {
		t.Fatal(err)
	}
	sent.DisabledNodeTypes[0], sent.Events[0].Name, days = "spoiled", "spoiled", 0
	got := ten.Settings()
	*got.RunRetentionDays = 0
	got.Quotas[tenant.Secret] = tenant.Quota{}
	got.DisabledNodeTypes[0] = "spoiled"
	s := ten.Settings()
	if s.DisabledNodeTypes[0] != "wait" || !s.KnowsEvent("paid") || s.KnowsEvent("other") || s.Quota(tenant.Secret).PerMinute != 5 || s.RunRetention() != 7*24*time.Hour {
		t.Errorf("the settings are %+v", s)
	}
}

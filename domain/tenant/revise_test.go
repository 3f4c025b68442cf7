package tenant_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestAPatchChangesWhatItNamesAndNothingElse(t *testing.T) {
	name, spanish, days, perMinute, concurrent := "Acme Inc", tenant.Spanish, 90, 5000, 7
	for claim, c := range map[string]struct {
		patch tenant.Patch
		want  func(*tenant.State)
	}{
		"nothing":  {tenant.Patch{}, func(*tenant.State) {}},
		"the name": {tenant.Patch{Name: &name}, func(s *tenant.State) { s.Name = name }},
		"the rest": {tenant.Patch{Language: &spanish, RunRetentionDays: &days}, func(s *tenant.State) {
			s.Settings.Language, s.Settings.RunRetentionDays = spanish, &days
		}},
		"a part of a default": {
			tenant.Patch{Quotas: map[tenant.KeyType]tenant.QuotaPatch{tenant.Public: {Concurrent: &concurrent}}},
			func(s *tenant.State) { s.Settings.Quotas[tenant.Public] = tenant.Quota{PerMinute: 100, Concurrent: 7} },
		},
		"a part of an override": {
			tenant.Patch{Quotas: map[tenant.KeyType]tenant.QuotaPatch{tenant.Secret: {PerMinute: &perMinute}}},
			func(s *tenant.State) {
				s.Settings.Quotas[tenant.Secret] = tenant.Quota{PerMinute: 5000, Concurrent: 1}
			},
		},
	} {
		settings := func() tenant.Settings {
			// A node type that nobody knows any more is the tenant's affair, not the operator's.
			return tenant.Settings{
				Language: tenant.English, DisabledNodeTypes: []string{"of a release before"},
				Quotas: map[tenant.KeyType]tenant.Quota{tenant.Secret: {PerMinute: 5, Concurrent: 1}},
			}
		}
		want := tenant.State{ID: "tenant_1", Name: "Acme", Status: tenant.Suspended, Settings: settings(), CreatedAt: noon, UpdatedAt: noon, Revision: 3}
		ten := tenant.Restore(want)
		want.Settings = settings()
		c.want(&want)
		want.UpdatedAt = later
		if err := ten.Revise(c.patch, later); err != nil {
			t.Errorf("%s: %v", claim, err)
		}
		if diff := cmp.Diff(want, ten.State()); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestAPatchIsNotSharedWithItsWriter(t *testing.T) {
	ten, days := someTenant(t), 90
	if err := ten.Revise(tenant.Patch{RunRetentionDays: &days}, later); err != nil {
		t.Fatal(err)
	}
	if days = 0; ten.Settings().KeptRunDays() != 90 {
		t.Errorf("runs are kept for %d days", ten.Settings().KeptRunDays())
	}
}

func TestARefusedPatchReportsEverythingAndChangesNothing(t *testing.T) {
	ten := someTenant(t)
	before := ten.State()
	empty, german, zero, much := "", tenant.Language("de"), 0, 1_000_001
	err := ten.Revise(tenant.Patch{
		Name: &empty, Language: &german, RunRetentionDays: &zero,
		Quotas:    map[tenant.KeyType]tenant.QuotaPatch{tenant.Public: {PerMinute: &zero}, tenant.Secret: {Concurrent: &much}},
		Malformed: []domain.Violation{{Field: "limits.secret.requestsPerMinute", Code: domain.WrongType, Message: "must be a number, not a string"}},
	}, later)
	want := []domain.Violation{
		{Field: "limits.secret.requestsPerMinute", Code: domain.WrongType, Message: "must be a number, not a string"},
		{Field: "name", Code: domain.Required, Message: "must not be empty"},
		{Field: "language", Code: domain.NotAllowed, Message: `must be one of "en", "pt-BR" or "es", not "de"`},
		{Field: "limits.public.requestsPerMinute", Code: domain.TooSmall, Message: "must be at least 1, not 0"},
		{Field: "limits.secret.concurrentRequests", Code: domain.TooLarge, Message: "must be at most 1000000, not 1000001"},
		{Field: "limits.runRetentionDays", Code: domain.TooSmall, Message: "must be at least 1, not 0"},
	}
	if diff := cmp.Diff(want, violations(t, err, "tenant_invalid")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, ten.State()); diff != "" {
		t.Errorf("the tenant changed: %s", diff)
	}
}

func TestADraftWithoutALanguageSpeaksEnglish(t *testing.T) {
	ten, err := tenant.New("tenant_1", tenant.Draft{Name: "Acme"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someTenant(t).State(), ten.State()); diff != "" {
		t.Error(diff)
	}
	none := tenant.Language("")
	_, err = tenant.New("tenant_1", tenant.Draft{Language: &none, Malformed: []domain.Violation{{Field: "name", Code: domain.WrongType, Message: "must be a string, not a number"}}}, noon)
	want := []domain.Violation{
		{Field: "name", Code: domain.WrongType, Message: "must be a string, not a number"},
		{Field: "language", Code: domain.NotAllowed, Message: `must be one of "en", "pt-BR" or "es", not ""`},
	}
	if diff := cmp.Diff(want, violations(t, err, "tenant_invalid")); diff != "" {
		t.Error(diff)
	}
}

func TestWhatTenantsAreSortedBy(t *testing.T) {
	if diff := cmp.Diff([]string{"name", "createdAt", "updatedAt"}, tenant.SortFields()); diff != "" {
		t.Error(diff)
	}
}

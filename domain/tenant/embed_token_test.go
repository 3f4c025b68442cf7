package tenant_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestAnEmbedTokenIsValidOrEveryViolationIsReported(t *testing.T) {
	sub, viewer, owner := tenant.SubTenantID("customer-42"), tenant.Viewer, tenant.Preset("owner")
	short, long, most := 59*time.Second, 24*time.Hour+time.Second, 24*time.Hour
	for claim, c := range map[string]struct {
		draft tenant.EmbedTokenDraft
		want  []string // the fields of the violations
	}{
		"a preset is enough":                        {tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{SubTenant: &sub}, Preset: &viewer}, nil},
		"it lives for a day at most":                {tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{SubTenant: &sub}, Preset: &viewer, Life: &most}, nil},
		"it needs a sub-tenant and something to do": {tenant.EmbedTokenDraft{}, []string{"subTenantId", "permissions"}},
		"an empty list of permissions is nothing":   {tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{SubTenant: &sub, Rights: []tenant.Right{}}}, []string{"permissions"}},
		"a preset and permissions contradict":       {tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{SubTenant: &sub, Rights: []tenant.Right{tenant.ReadRunsRight}}, Preset: &viewer}, []string{"permissions"}},
		"a preset must exist":                       {tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{SubTenant: &sub}, Preset: &owner}, []string{"preset"}},
		"it must not end too soon":                  {tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{SubTenant: &sub}, Preset: &viewer, Life: &short}, []string{"expiresInSeconds"}},
		"it must not live too long":                 {tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{SubTenant: &sub}, Preset: &viewer, Life: &long}, []string{"expiresInSeconds"}},
		"everything that is wrong is told at once": {tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{
			SubTenant: &sub, Rights: []tenant.Right{"runs:paint"}, Workflows: []string{}, NodeTypes: []string{"a b"}, Subject: "\x00",
			Origins: []string{"app.example.com", "https://app.example.com/", "HTTPS://app.example.com"}, Language: "tlh",
		}}, []string{"permissions[0]", "workflowIds", "nodeTypes[0]", "origins[0]", "origins[1]", "origins[2]", "subject", "language"}},
	} {
		t.Run(claim, func(t *testing.T) {
			_, err := tenant.NewEmbedToken("emb_1", "tenant_1", c.draft, tenant.NewKeyText(tenant.Embed, [tenant.KeyEntropy]byte{1}), time.Unix(0, 0))
			var fields []string
			if failure := (*domain.Error)(nil); errors.As(err, &failure) {
				for _, v := range failure.Violations {
					fields = append(fields, v.Field)
				}
			}
			if diff := cmp.Diff(c.want, fields); diff != "" || (err != nil) != (c.want != nil) {
				t.Error(diff, err)
			}
		})
	}
}

func TestWhatChangesThingsIncludesReadingThem(t *testing.T) {
	sub := tenant.SubTenantID("a")
	now := time.Unix(1e9, 0)
	token, err := tenant.NewEmbedToken("emb_1", "tenant_1", tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{
		SubTenant: &sub, Rights: []tenant.Right{tenant.ActOnRunsRight, tenant.PublishWorkflowsRight},
	}}, tenant.NewKeyText(tenant.Embed, [tenant.KeyEntropy]byte{1}), now)
	if err != nil {
		t.Fatal(err)
	}
	want := []tenant.Right{tenant.ReadWorkflowsRight, tenant.PublishWorkflowsRight, tenant.ReadRunsRight, tenant.ActOnRunsRight}
	if diff := cmp.Diff(want, token.Narrowing().Rights); diff != "" {
		t.Error(diff)
	}
	if token.Usable(now.Add(tenant.DefaultTokenLife)) || !token.Usable(now.Add(tenant.DefaultTokenLife-time.Second)) {
		t.Errorf("it ends at %v", token.ExpiresAt())
	}
}

// Origins become part of policies of pages, where some characters have a meaning.
func TestAnOriginIsWhatBrowsersSend(t *testing.T) {
	at := time.Unix(0, 0)
	right := []string{"https://app.example.com", "http://localhost:3000", "https://a_b.example:8443", "https://[::1]:8443", "https://127.0.0.1", "https://xn--bcher-kva.example"}
	wrong := []string{
		"", "https://", "app.example.com", "https://app.example.com/", "HTTPS://app.example.com", "https://App.example.com", "https://user@app.example.com", "https://app.example.com?a",
		"https://*", "https://*.example.com", "*", "https:", "'self'", "null", "https://a;script-src", "https://a,b", "https://a b", "https://a\nb", "https://a\"b", "https://b\u00fccher.example",
		"https://app.example.com:443", "http://app.example.com:80", "https://a:", "https://a:0", "https://a:port", "https://.a", "https://a.", "https://a..b", "ftp://a", "https://" + strings.Repeat("a", 256),
	}
	ten, err := tenant.New("tenant_1", tenant.Draft{Name: "Acme"}, at)
	if err != nil {
		t.Fatal(err)
	}
	revise := func(origins ...string) error {
		return ten.ReviseSettings(tenant.SettingsPatch{EmbedOrigins: &origins}, func(string) bool { return true }, at)
	}
	if err := revise(right...); err != nil {
		t.Error(err)
	}
	for _, origin := range wrong {
		var failure *domain.Error
		if err := revise(origin); !errors.As(err, &failure) || failure.Violations[0].Field != "embed.origins[0]" {
			t.Errorf("%q: %v", origin, err)
		}
	}
	if err := revise(right[0], right[1], right[0]); err == nil {
		t.Error("one origin stands there twice")
	}
	if err := revise(slices.Repeat(right[:1], tenant.MaxEmbedOrigins+1)...); err == nil {
		t.Error("too many are taken")
	}
	if diff := cmp.Diff(right, ten.Settings().EmbedOrigins); diff != "" {
		t.Error("what is refused changes nothing: ", diff)
	}
}

package event_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123_000_000, time.UTC)

// endpoint makes an endpoint that is valid.
func endpoint(t testing.TB, d event.EndpointDraft) *event.Endpoint {
	t.Helper()
	e, err := event.NewEndpoint("whk_1", "tenant_1", d, parse(t, secretText), noon)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// violations returns what an error reports, as "field code".
func violations(t *testing.T, err error) (found []string) {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.Invalid || e.Code != "webhook_endpoint_invalid" {
		t.Fatalf("the error is %v", err)
	}
	for _, v := range e.Violations {
		found = append(found, v.Field+" "+string(v.Code))
	}
	return found
}

func TestANewEndpointIsWhatItsDraftSays(t *testing.T) {
	about, no := "About it", false
	d := event.EndpointDraft{URL: "http://example.com:8080/hooks?a=b", Description: &about, Events: []event.Type{event.RunFailed, event.RunStarted}, SubTenant: "team", Active: &no}
	want := event.EndpointState{
		ID: "whk_1", Tenant: "tenant_1", SubTenant: "team", URL: d.URL, Description: &about, Events: d.Events,
		Secret: parse(t, secretText), CreatedAt: noon, UpdatedAt: noon, Revision: 1,
	}
	e := endpoint(t, d)
	if diff := cmp.Diff(want, e.State()); diff != "" {
		t.Error(diff)
	}
	d.Events[0], about = event.RunPaused, "Another"
	want.Description = new("About it")
	want.Events = []event.Type{event.RunFailed, event.RunStarted}
	if diff := cmp.Diff(want, e.State()); diff != "" {
		t.Errorf("it shares memory with its draft: %s", diff)
	}
	if !endpoint(t, event.EndpointDraft{URL: "https://example.com"}).Active() {
		t.Error("it is not active although nobody said so")
	}
}

func TestEveryMistakeOfAnEndpointIsReportedAtOnce(t *testing.T) {
	long, nul := strings.Repeat("x", event.MaxDescription+1), "a\x00b"
	for claim, c := range map[string]struct {
		draft event.EndpointDraft
		want  []string
	}{
		"nothing is given":           {event.EndpointDraft{}, []string{"url required"}},
		"everything is wrong":        {event.EndpointDraft{URL: "ftp://x", Description: &long, Events: []event.Type{"run.lost", event.RunFailed, event.RunFailed}, SubTenant: "a\nb"}, []string{"url bad_format", "description too_long", "events[0] not_allowed", "events[2] duplicate", "subTenantId bad_character"}},
		"a NUL":                      {event.EndpointDraft{URL: "https://example.com", Description: &nul}, []string{"description bad_character"}},
		"the test is not subscribed": {event.EndpointDraft{URL: "https://example.com", Events: []event.Type{event.EndpointTest}}, []string{"events[0] not_allowed"}},
		"what was found before stays": {
			event.EndpointDraft{Events: []event.Type{""}, Malformed: []domain.Violation{{Field: "url", Code: domain.WrongType}, {Field: "events[0]", Code: domain.WrongType}}},
			[]string{"url wrong_type", "events[0] wrong_type"},
		},
	} {
		_, err := event.NewEndpoint("whk_1", "tenant_1", c.draft, domain.SigningSecret{}, noon)
		if diff := cmp.Diff(c.want, violations(t, err)); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestAURLIsAbsoluteAndHoldsNothingThatIsNotSent(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com": "", "http://example.com/": "", "HTTPS://EXAMPLE.com/a?b=c#": "url not_allowed",
		"https://[2001:db8::1]:8443/x": "", "https://example.com:65535": "", "https://münchen.example/ü": "",
		"":                            "url required",
		"example.com":                 "url bad_format",
		"//example.com/x":             "url bad_format",
		"https:example.com":           "url bad_format",
		"https:///x":                  "url bad_format",
		"https://:443/x":              "url bad_format",
		"file:///etc/passwd":          "url bad_format",
		"javascript:alert(1)":         "url bad_format",
		"https://example.com:0":       "url bad_format",
		"https://example.com:65536":   "url bad_format",
		"https://example.com:http":    "url bad_format",
		"https://exa mple.com":        "url bad_format",
		"https://example.com/\n":      "url bad_format",
		"https://user@example.com":    "url not_allowed",
		"https://user:pw@example.com": "url not_allowed",
		"https://@example.com":        "url not_allowed",
		"https://example.com/#part":   "url not_allowed",
		"https://example.com/\x00":    "url bad_character",
		"https://example.com/\xff":    "url bad_character",
		"https://example.com/" + strings.Repeat("x", event.MaxURL-20): "",
		"https://example.com/" + strings.Repeat("x", event.MaxURL-19): "url too_long",
	} {
		_, err := event.NewEndpoint("whk_1", "tenant_1", event.EndpointDraft{URL: text}, domain.SigningSecret{}, noon)
		got := ""
		if err != nil {
			got = strings.Join(violations(t, err), ", ")
		}
		if got != want {
			t.Errorf("%.60q: %q, not %q", text, got, want)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, seed := range []string{"https://example.com", "http://[::1]:80/x?y#z", "https://a:b@c", "//x", "https://ex%61mple.com:99999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := event.NewEndpoint("whk_1", "tenant_1", event.EndpointDraft{URL: text}, domain.SigningSecret{}, noon); err != nil {
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" || len(text) > 4*event.MaxURL {
			t.Errorf("%q is accepted: %v", text, err)
		}
	})
}

func TestARevisionChangesAllOrNothing(t *testing.T) {
	later := noon.Add(time.Hour)
	about, address, team, yes, no := "New", "https://example.org", tenant.SubTenantID("team"), true, false
	failing := endpoint(t, event.EndpointDraft{URL: "https://example.com", Description: new("Old"), Events: []event.Type{event.RunFailed}}).State()
	failing.FailingSince = &noon
	off := failing
	off.Active, off.Disabled = false, &event.Disabled{At: noon, Reason: event.DisabledFailing}
	for claim, c := range map[string]struct {
		from  event.EndpointState
		patch event.EndpointPatch
		want  func(*event.EndpointState)
	}{
		"nothing": {failing, event.EndpointPatch{}, func(*event.EndpointState) {}},
		"all of it": {failing, event.EndpointPatch{Description: &about, Events: &[]event.Type{event.RunPaused}, SubTenant: &team}, func(s *event.EndpointState) {
			s.Description, s.Events, s.SubTenant = &about, []event.Type{event.RunPaused}, team
		}},
		"all types, no description":             {failing, event.EndpointPatch{Description: &about, RemoveDescription: true, Events: &[]event.Type{}}, func(s *event.EndpointState) { s.Description, s.Events = nil, []event.Type{} }},
		"another URL forgets failures":          {failing, event.EndpointPatch{URL: &address}, func(s *event.EndpointState) { s.URL, s.FailingSince = address, nil }},
		"switching off keeps them":              {failing, event.EndpointPatch{Active: &no}, func(s *event.EndpointState) { s.Active = false }},
		"staying active keeps them":             {failing, event.EndpointPatch{Active: &yes}, func(*event.EndpointState) {}},
		"switching on forgets why it was off":   {off, event.EndpointPatch{Active: &yes}, func(s *event.EndpointState) { s.Active, s.Disabled, s.FailingSince = true, nil, nil }},
		"what was switched off keeps its cause": {off, event.EndpointPatch{Active: &no}, func(*event.EndpointState) {}},
	} {
		e, want := event.RestoreEndpoint(c.from), event.RestoreEndpoint(c.from).State()
		c.want(&want)
		want.UpdatedAt = later
		if err := e.Revise(c.patch, later); err != nil {
			t.Errorf("%s: %v", claim, err)
		}
		if diff := cmp.Diff(want, e.State()); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
	e := event.RestoreEndpoint(failing)
	err := e.Revise(event.EndpointPatch{URL: new("nowhere"), Description: &about, Malformed: []domain.Violation{{Field: "isActive", Code: domain.WrongType}}}, later)
	if diff := cmp.Diff([]string{"isActive wrong_type", "url bad_format"}, violations(t, err)) + cmp.Diff(failing, e.State()); diff != "" {
		t.Error(diff)
	}
}

func TestAnEndpointWantsWhatItSubscribesTo(t *testing.T) {
	all := endpoint(t, event.EndpointDraft{URL: "https://example.com"})
	some := endpoint(t, event.EndpointDraft{URL: "https://example.com", Events: []event.Type{event.RunFailed}, SubTenant: "team"})
	off := endpoint(t, event.EndpointDraft{URL: "https://example.com", Active: new(false)})
	for _, c := range []struct {
		e    *event.Endpoint
		t    event.Type
		sub  tenant.SubTenantID
		want bool
	}{
		{all, event.RunStarted, "", true}, {all, event.EndpointDisabled, "team", true}, {all, event.EndpointTest, "", false},
		{some, event.RunFailed, "team", true}, {some, event.RunFailed, "", false}, {some, event.RunFailed, "tea", false}, {some, event.RunStarted, "team", false},
		{off, event.RunFailed, "", false},
	} {
		if got := c.e.Wants(c.t, c.sub, false); got != c.want {
			t.Errorf("%v wants %s of %q: %v", c.e.Events(), c.t, c.sub, got)
		}
	}
}

func TestARotatedSecretGoesOnForADay(t *testing.T) {
	e := endpoint(t, event.EndpointDraft{URL: "https://example.com"})
	fresh := func(n byte) domain.SigningSecret { return domain.NewSigningSecret([domain.SecretEntropy]byte{n}) }
	signing := func(at time.Time) (names []byte) {
		for _, s := range e.SigningSecrets(at) {
			name := byte(0) // the first one
			for n := byte(1); n < 10; n++ {
				if s.Equal(fresh(n)) {
					name = n
				}
			}
			names = append(names, name)
		}
		return names
	}
	want := func(step string, at time.Time, names ...byte) {
		t.Helper()
		if diff := cmp.Diff(names, signing(at)); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
	}
	want("at first", noon, 0)
	e.RotateSecret(fresh(1), noon)
	want("both sign", noon.Add(event.SecretOverlap-1), 1, 0)
	want("a day later", noon.Add(event.SecretOverlap), 1)
	e.RotateSecret(fresh(2), noon.Add(time.Hour))
	want("each has its own day", noon.Add(24*time.Hour), 2, 1)
	if e.UpdatedAt() != noon.Add(time.Hour) || !e.Secret().Equal(fresh(2)) {
		t.Errorf("updated at %s", e.UpdatedAt())
	}
	for n := byte(3); n < 9; n++ {
		e.RotateSecret(fresh(n), noon.Add(2*time.Hour))
	}
	want("no more than four next to the current one", noon.Add(2*time.Hour), 8, 7, 6, 5, 4)
	e.RotateSecret(fresh(9), noon.Add(100*time.Hour))
	if n := len(e.State().Retired); n != 1 {
		t.Errorf("%d secrets are kept that sign no more", n-1)
	}
}

func TestAnEndpointThatDoesNothingButFailIsSwitchedOff(t *testing.T) {
	ok, bad, gone := event.AttemptResult{Status: 204}, event.AttemptResult{Status: 500}, event.AttemptResult{Status: 410}
	const days = 24 * time.Hour
	type step struct {
		o  event.AttemptResult
		at time.Duration
	}
	for claim, c := range map[string]struct {
		steps []step
		since *time.Time
		off   *event.Disabled
		last  bool // whether the last step changed anything
	}{
		"a success changes nothing":              {[]step{{ok, 0}}, nil, nil, false},
		"the first failure counts":               {[]step{{bad, 0}}, &noon, nil, true},
		"the second does not":                    {[]step{{bad, 0}, {bad, days}}, &noon, nil, false},
		"a success ends it":                      {[]step{{bad, 0}, {ok, days}}, nil, nil, true},
		"nearly five days":                       {[]step{{bad, 0}, {bad, 5*days - 1}}, &noon, nil, false},
		"five days":                              {[]step{{bad, 0}, {bad, 5 * days}}, &noon, &event.Disabled{At: noon.Add(5 * days), Reason: event.DisabledFailing}, true},
		"five days with a success between":       {[]step{{bad, -days}, {ok, -1}, {bad, 0}, {bad, 4 * days}}, &noon, nil, false},
		"gone, at once":                          {[]step{{gone, 0}}, &noon, &event.Disabled{At: noon, Reason: event.DisabledGone}, true},
		"a defect of the gateway's says nothing": {[]step{{event.InternalFailure(0), 0}}, nil, nil, false},
		"nor does it among failures":             {[]step{{bad, 0}, {event.InternalFailure(0), 9 * days}}, &noon, nil, false},
		"nothing changes one that is not there":  {[]step{{gone, 0}, {ok, 1}, {bad, 9 * days}}, &noon, &event.Disabled{At: noon, Reason: event.DisabledGone}, false},
	} {
		e := endpoint(t, event.EndpointDraft{URL: "https://example.com"})
		changed := false
		for _, s := range c.steps {
			changed = e.Note(s.o, noon.Add(s.at))
		}
		if diff := cmp.Diff(c.since, e.FailingSince()) + cmp.Diff(c.off, e.Disabled()); diff != "" || e.Active() != (c.off == nil) || changed != c.last {
			t.Errorf("%s: active %v, changed %v: %s", claim, e.Active(), changed, diff)
		}
	}
}

func TestTheEventOfAnEndpointThatWasSwitchedOffSaysWhy(t *testing.T) {
	e := endpoint(t, event.EndpointDraft{URL: "https://example.com/token", SubTenant: "team"})
	if _, ok := e.DisabledEvent("evt_1"); ok {
		t.Error("it was not switched off")
	}
	e.Note(event.AttemptResult{}, noon)
	e.Note(event.AttemptResult{}, noon.Add(event.FailureLimit))
	told, ok := e.DisabledEvent("evt_1")
	const want = `{"id":"evt_1","type":"webhook_endpoint.disabled","timestamp":"2026-11-26T12:00:00.123Z","data":{"endpointId":"whk_1",` +
		`"reason":"failing","message":"Every attempt to deliver to the endpoint has failed for 5 days.",` +
		`"failingSince":"2026-11-21T12:00:00.123Z","disabledAt":"2026-11-26T12:00:00.123Z"}}`
	if !ok || string(told.Body()) != want || told.SubTenant() != "team" || told.Tenant() != "tenant_1" {
		t.Errorf("%s", told.Body())
	}
}

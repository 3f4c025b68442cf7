package member_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func fields(err error) (names []string) {
	var e *domain.Error
	if errors.As(err, &e) {
		for _, v := range e.Violations {
			names = append(names, v.Field)
		}
	}
	return names
}

func TestAnAddressIsReadInLowerCase(t *testing.T) {
	for text, want := range map[string]member.Email{
		"anna@example.com": "anna@example.com", " Anna@Example.COM ": "anna@example.com", "a.b+c@x-y.example": "a.b+c@x-y.example",
		"": "", "anna": "", "anna@": "", "@example.com": "", "Anna <anna@example.com>": "", "<anna@example.com>": "", `"an na"@example.com`: "",
		"änna@example.com": "", "a@b@c": "", "anna@example.com, bert@example.com": "", "anna@example.com\r\nBcc: x@y.z": "",
		strings.Repeat("a", 243) + "@example.com": "",
	} {
		got, ok := member.ParseEmail(text)
		if got != want || ok != (want != "") {
			t.Errorf("%q is read as %q, %v", text, got, ok)
		}
	}
	if got := member.Email("anna@example.com").Domain(); got != "example.com" {
		t.Errorf("the domain is %s", got)
	}
}

func TestAUserIsValidOrAbsent(t *testing.T) {
	french := tenant.Language("fr")
	_, err := member.NewUser("usr_1", member.UserDraft{Email: "anna", Name: "\x00", Language: &french}, noon)
	if diff := cmp.Diff([]string{"email", "name", "language"}, fields(err)); diff != "" {
		t.Error(diff)
	}
	u, err := member.NewUser("usr_1", member.UserDraft{Email: "Anna@example.com"}, noon)
	want := member.UserState{ID: "usr_1", Email: "anna@example.com", Language: tenant.English, CreatedAt: noon, Revision: 1}
	if err != nil || u.State() != want || u.HasEntered() {
		t.Errorf("the user is %+v, %v", u, err)
	}
	u.SetPassword("$argon2id$…")
	u.Disable(noon)
	u.Disable(noon.Add(time.Hour))
	if !u.HasEntered() || !u.IsDisabled() || !u.DisabledAt().Equal(noon) {
		t.Errorf("the user is %+v", u.State())
	}
	if u.Enable(); u.IsDisabled() {
		t.Error("the user is disabled still")
	}
}

func TestIssuerAndSubjectDecideWhoAUserIs(t *testing.T) {
	u, _ := member.NewUser("usr_1", member.UserDraft{Email: "anna@example.com"}, noon)
	anna := member.Identity{Issuer: "https://id.example", Subject: "1"}
	if err := u.Join(anna, "Anna"); err != nil || u.Identity() != anna || u.Name() != "Anna" || !u.HasEntered() {
		t.Errorf("joined is %+v, %v", u.State(), err)
	}
	if err := u.Join(anna, "Another name"); err != nil || u.Name() != "Anna" {
		t.Errorf("joined again is %+v, %v", u.State(), err)
	}
	for _, other := range []member.Identity{{Issuer: "https://id.example", Subject: "2"}, {Issuer: "https://other.example", Subject: "1"}, {}} {
		if err := u.Join(other, "Eve"); !errors.Is(err, domain.Unauthenticated) || u.Identity() != anna {
			t.Errorf("%+v took the user: %v", other, err)
		}
	}
}

func TestATokenIsHidden(t *testing.T) {
	tok := member.NewToken([member.TokenBytes]byte{1, 2, 3})
	text := tok.Reveal()
	coded, err := json.Marshal(map[string]any{"token": tok})
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%v %+v %#v %s %s", tok, tok, tok, tok, coded); strings.Contains(shown, text) {
		t.Errorf("it is shown: %s", shown)
	}
	got, ok := member.ParseToken(text)
	if !ok || got.Hash() != tok.Hash() || len(text) != 43 {
		t.Errorf("%s is read as %v", text, ok)
	}
	for _, bad := range []string{"", text[1:], text + "A", text[:42] + "!", text + "=", text[:42] + "B", text + "\n"} {
		if _, ok := member.ParseToken(bad); ok {
			t.Errorf("%q is a token", bad)
		}
	}
	if (member.Token{}).Reveal() != "" {
		t.Error("no token has a text")
	}
}

func TestASessionEndsWhenNobodyUsesItAndInAnyCase(t *testing.T) {
	s := member.NewSession("ses_1", "usr_1", member.NewToken([member.TokenBytes]byte{}), member.Browser{Agent: strings.Repeat("ä", 200) + "\xff", Address: "192.0.2.1"}, noon)
	if got := s.State().Agent; got != strings.Repeat("ä", 127) {
		t.Errorf("the browser is %q", got)
	}
	used := func(at time.Duration) *member.Session {
		st := s.State()
		st.LastUsedAt = noon.Add(at)
		return member.RestoreSession(st)
	}
	for _, c := range []struct {
		used, at time.Duration
		live     bool
	}{
		{0, 0, true}, {0, 12*time.Hour - 1, true}, {0, 12 * time.Hour, false}, {time.Hour, 12 * time.Hour, true},
		{7*24*time.Hour - 1, 7*24*time.Hour - 1, true}, {7*24*time.Hour - 1, 7 * 24 * time.Hour, false},
	} {
		if got := used(c.used).IsLive(noon.Add(c.at)); got != c.live {
			t.Errorf("used after %s, after %s it is live: %v", c.used, c.at, got)
		}
	}
	if s.NeedsNote(noon.Add(time.Minute-1)) || !s.NeedsNote(noon.Add(time.Minute)) {
		t.Error("uses are noted once a minute")
	}
}

func TestALinkHasALastDay(t *testing.T) {
	for purpose, life := range map[member.Purpose]time.Duration{member.Invitation: 72 * time.Hour, member.Reset: 72 * time.Hour, member.SignIn: 15 * time.Minute} {
		l := member.NewLink("usr_1", purpose, member.NewToken([member.TokenBytes]byte{}), noon)
		if l.Check(noon.Add(life-1)) != nil || !errors.Is(l.Check(noon.Add(life)), domain.NotFound) {
			t.Errorf("%s ends at %s", purpose, l.State().EndsAt)
		}
		if l.SetsPassword() != (purpose != member.SignIn) {
			t.Errorf("%s sets a password: %v", purpose, l.SetsPassword())
		}
	}
}

func TestTheLastAdminStays(t *testing.T) {
	_, err := member.NewMembership("mem_1", "tenant_1", "usr_1", "owner", noon)
	if diff := cmp.Diff([]string{"role"}, fields(err)); diff != "" {
		t.Error(diff)
	}
	for _, role := range tenant.Roles() {
		m, err := member.NewMembership("mem_1", "tenant_1", "usr_1", role, noon)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.KeepAnAdmin(1); errors.Is(err, domain.Conflict) != (role == tenant.AdminRole) {
			t.Errorf("%s: %v", role, err)
		}
		if err := m.KeepAnAdmin(2); err != nil {
			t.Errorf("%s: %v", role, err)
		}
		if err := m.Change("owner"); err == nil || m.Role() != role {
			t.Errorf("changed to %s, %v", m.Role(), err)
		}
	}
}

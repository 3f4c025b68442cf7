package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/mail/mailtest"
	"github.com/sluicehq/sluice/adapters/oauth/oauthtest"
)

const (
	publicURL    = "https://sluice.example.com"
	goodPassword = "correct horse battery staple"
)

// enter uses a link that a command printed.
func (s server) enter(t *testing.T, link any) int {
	t.Helper()
	token, found := strings.CutPrefix(fmt.Sprint(link), publicURL+"/console/l/")
	if !found {
		t.Fatalf("the link is %v", link)
	}
	status, _ := s.request(t, http.MethodPost, "/console/api/links/"+token, "", `{"password":"`+goodPassword+`"}`)
	return status
}

func TestTheOperatorLetsPeopleIn(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_PUBLIC_URL="+publicURL)
	s := b.start("serve")
	one, other := b.json("tenant", "create", "--name", "one")["tenantId"].(string), b.json("tenant", "create", "--name", "other")["tenantId"].(string)

	made := b.json("user", "create", "--email", "Anna@example.com", "--name", "Anna", "--operator")
	added := b.json("member", "add", "--tenant", one, "--email", "anna@example.com", "--role", "admin")
	if status := s.enter(t, made["link"]); status != http.StatusNotFound {
		t.Errorf("a link from before the membership: %d", status)
	}
	if status := s.enter(t, added["link"]); status != http.StatusNoContent {
		t.Errorf("the invitation: %d", status)
	}
	if again := b.json("member", "add", "--tenant", other, "--email", "anna@example.com", "--role", "viewer"); again["link"] != nil || again["userId"] != made["userId"] {
		t.Errorf("who has come in is added as %v", again)
	}
	reset := b.json("user", "reset", "anna@example.com")
	if reset["userId"] != made["userId"] || s.enter(t, reset["link"]) != http.StatusNoContent || s.enter(t, reset["link"]) != http.StatusNotFound {
		t.Errorf("another password by %v", reset)
	}
	login := `{"email":"anna@example.com","password":"` + goodPassword + `"}`
	status, _ := s.request(t, http.MethodPost, "/console/api/session", "", login)
	b.ok("user", "disable", "anna@example.com")
	refused, _ := s.request(t, http.MethodPost, "/console/api/session", "", login)
	b.ok("user", "enable", "anna@example.com")
	back, _ := s.request(t, http.MethodPost, "/console/api/session", "", login)
	if status != http.StatusNoContent || refused != http.StatusUnauthorized || back != http.StatusNoContent {
		t.Errorf("signed in with %d, when disabled with %d, then with %d", status, refused, back)
	}

	if text := b.ok("member", "list", "--tenant", one); !strings.Contains(text, "anna@example.com  Anna  admin") || !strings.Contains(text, "1 of 1 members") {
		t.Errorf("the members are %s", text)
	}
	if text := b.ok("user", "list"); !strings.Contains(text, "anna@example.com  Anna  active  yes") {
		t.Errorf("the users are %s", text)
	}
	b.ok("user", "create", "--email", "bert@example.com")
	invited := b.ok("user", "invite", "bert@example.com")
	_, link, _ := strings.Cut(invited, "\n\n  ")
	link, _, _ = strings.Cut(link, "\n")
	if status := s.enter(t, link); status != http.StatusNoContent {
		t.Errorf("the invitation that is printed for people gets %d: %s", status, invited)
	}
	b.ok("member", "remove", "anna@example.com", "--tenant", other)
	if total := b.json("member", "list", "--tenant", other)["total"]; total != 0.0 {
		t.Errorf("the other tenant has %v members", total)
	}
	for line, want := range map[string]string{
		"user invite anna@example.com":                                      "The user has come in already, and needs no invitation. For another password: sluice user reset anna@example.com\n",
		"user reset carl@example.com":                                       "There is no such user. To make one: sluice user create --email carl@example.com\n",
		"member remove anna@example.com --tenant " + one:                    "This is the tenant's last admin. Make somebody else an admin first.\n",
		"member remove bert@example.com --tenant " + one:                    "There is no such member.\n",
		"member list --tenant tenant_none":                                  "There is no such tenant.\n",
		"user create --email bert@example.com":                              "There is a user with this mail address already.\n",
		"user create --language xx":                                         "The user is not valid.\n  --email must not be empty\n  --language must be one of \"en\", \"pt-BR\" or \"es\", not \"xx\"\n",
		"member add --email bert@example.com --tenant " + one:               "The member is not valid.\n  --role must be \"viewer\", \"approver\", \"editor\" or \"admin\"\n",
		"member add --email anna@example.com --role viewer --tenant " + one: "The user is a member of this tenant already.\n",
		"member add --email carl@example.com --role viewer":                 "wrong usage: sluice member add needs --tenant\n\nHelp: sluice --help\n",
		"user disable":        "wrong usage: sluice user disable needs the mail address of a user\n\nHelp: sluice --help\n",
		"user list --limit 0": "wrong usage: The list parameters are not valid.\n  --limit must be at least 1, not 0\n\nHelp: sluice --help\n",
	} {
		code, stdout, stderr := b.run(strings.Fields(line)...)
		if diff := cmp.Diff("sluice: "+want, stderr); code == exitDone || stdout != "" || diff != "" {
			t.Errorf("sluice %s: %d, %q, %s", line, code, stdout, diff)
		}
	}
}

func TestTheGatewayMailsWhatCommandsPrint(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b, server := newBinary(t, sqliteURL(t)), mailtest.Start(t, false, false)
	b.environ = append(b.environ, "SLUICE_PUBLIC_URL="+publicURL, "SLUICE_SMTP_URL="+server.URL("smtp"))
	b.ok("migrate", "up")
	unknown := b.json("user", "create", "--email", mailtest.Unknown)
	made := b.json("user", "create", "--email", "anna@example.com", "--language", "es")
	owner := b.json("tenant", "create", "--name", "Acme")["tenantId"].(string)
	b.json("member", "add", "--tenant", owner, "--email", "bert@example.com", "--role", "viewer")
	b.json("user", "create", "--email", "carla@example.com", "--language", "pt-BR")
	b.json("user", "reset", "carla@example.com")
	if made["mailed"] != true || unknown["mailed"] != true || len(server.Messages()) > 0 {
		t.Errorf("made is %v", made)
	}
	s := b.start("serve")
	for deadline := time.Now().Add(time.Minute); len(server.Messages()) < 4 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	var got []string
	for _, m := range server.Received(t) {
		got = append(got, m.To+": "+m.Subject)
		_, link, _ := strings.Cut(m.Text, publicURL)
		link, _, _ = strings.Cut(link, "\n")
		if status := s.enter(t, publicURL+link); status != http.StatusNoContent {
			t.Errorf("the link of %s gets %d", m.To, status)
		}
		if m.To == "carla@example.com" {
			break // the other one has ended by that
		}
	}
	if diff := cmp.Diff([]string{"anna@example.com: Invitación a Sluice", "bert@example.com: You are invited to Acme", "carla@example.com: Convite para Sluice"}, got); diff != "" {
		t.Error(diff)
	}
	if all := server.Received(t); len(all) != 4 || all[3].Subject != "Escolha outra senha" || all[3].To != "carla@example.com" {
		t.Errorf("mailed are %+v", all)
	}
}

func TestMistakesInTheSettingsOfPeopleAreNamed(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	secret := "hunter2"
	for _, c := range []struct{ environ, want string }{
		{"SLUICE_OIDC_ISSUER=http://login.example.com SLUICE_OIDC_CLIENT_ID=a", "SLUICE_OIDC_ISSUER must be an https:// address"},
		{"SLUICE_OIDC_ISSUER=https://login.example.com?a=b SLUICE_OIDC_CLIENT_ID=a", "SLUICE_OIDC_ISSUER must be an https:// address"},
		{"SLUICE_OIDC_ISSUER=https://login.example.com", "SLUICE_OIDC_CLIENT_ID must be set, since SLUICE_OIDC_ISSUER is"},
		{"SLUICE_OIDC_CLIENT_SECRET=" + secret, "SLUICE_OIDC_CLIENT_SECRET is set, and SLUICE_OIDC_ISSUER is not"},
		{"SLUICE_OIDC_ALLOWED_DOMAINS=example.com", "SLUICE_OIDC_ALLOWED_DOMAINS is set, and SLUICE_OIDC_ISSUER is not"},
		{"SLUICE_OIDC_ISSUER=https://login.example.com SLUICE_OIDC_CLIENT_ID=a SLUICE_OIDC_ALLOWED_DOMAINS=example.com,@example.org", `SLUICE_OIDC_ALLOWED_DOMAINS holds "@example.org"`},
		{"SLUICE_SMTP_URL=smtp://sluice:" + secret + "@mail.example.com", "SLUICE_SMTP_URL must be smtp://"},
	} {
		b := newBinary(t, sqliteURL(t))
		b.environ = append(b.environ, strings.Fields(c.environ)...)
		if code, _, stderr := b.run("serve"); code != exitUsage || !strings.Contains(stderr, c.want) || strings.Contains(stderr, secret) {
			t.Errorf("%s: %d, %s", c.environ, code, stderr)
		}
	}
}

func TestAGatewayServesWhileItsIdentityProviderIsAway(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(oauthtest.WebSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := oauthtest.Start(t, publicURL+"/console/api/oidc/callback")
	for issuer, want := range map[string]int{"http://127.0.0.1:1": http.StatusServiceUnavailable, server.URL: http.StatusSeeOther} {
		b := newBinary(t, sqliteURL(t))
		b.environ = append(b.environ, "SLUICE_PUBLIC_URL="+publicURL, "SLUICE_OIDC_ISSUER="+issuer, "SLUICE_OIDC_CLIENT_ID="+oauthtest.WebClient, "SLUICE_OIDC_CLIENT_SECRET_FILE="+file)
		s := b.start("serve")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/console/api/oidc/start", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, not %d: %s", issuer, answer.StatusCode, want, s.stderr)
		}
		if to := answer.Header.Get("Location"); want == http.StatusSeeOther && !strings.Contains(to, url.QueryEscape(publicURL+"/console/api/oidc/callback")) {
			t.Errorf("people are sent to %s", to)
		}
		if status, _ := s.request(t, http.MethodGet, "/readyz", "", ""); status != http.StatusOK {
			t.Errorf("%s: not ready: %d", issuer, status)
		}
	}
}

// cameIn has a person come in, and returns the secrets of that: of links, of the session, and what a browser brings.
func cameIn(t *testing.T, b binary, s server) []string {
	t.Helper()
	token := func(link any) string {
		text := fmt.Sprint(link)
		return text[strings.LastIndex(text, "/")+1:]
	}
	used, open, code := token(b.json("user", "create", "--email", "anna@example.com")["link"]), token(b.json("user", "create", "--email", "bert@example.com")["link"]), "code-of-a-provider_0a1b2c3d4e5f"
	all := []string{used, open, code, goodPassword}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodGet, "/console/l/" + used, "", http.StatusOK}, {http.MethodPost, "/console/l/" + used, "password=short", http.StatusBadRequest},
		{http.MethodPost, "/console/l/" + used, url.Values{"password": {goodPassword}}.Encode(), http.StatusSeeOther}, {http.MethodGet, "/console/l/" + used, "", http.StatusNotFound},
		{http.MethodGet, "/console/l/" + open + "/more", "", http.StatusNotFound}, {http.MethodPut, "/console/api/links/" + open, "", http.StatusMethodNotAllowed},
		{http.MethodGet, "/console/api/oidc/callback?state=s&code=" + code, "", http.StatusNotFound},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, s.url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%s %s: %d, not %d", c.method, c.path, answer.StatusCode, c.status)
		}
		for _, cookie := range answer.Cookies() {
			all = append(all, cookie.Value)
		}
	}
	if len(all) != 5 {
		t.Errorf("%d sessions have begun", len(all)-4)
	}
	return all
}

// Somebody who signs in needs no key. So what that takes is not the memory that tenants' requests wait for.
func TestPasswordsTakeNothingOfTheMemoryForRequests(t *testing.T) {
	memory := budget.Divide(budget.MinMemory, 1)
	if !memory.Intake.TryReserve("", memory.Intake.Max()) {
		t.Fatal("the memory for requests is in use")
	}
	busy, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := hashing(memory).Hash(busy, "a long walk by the sea"); err != nil {
		t.Errorf("while requests take all of their memory, nobody signs in: %v", err)
	}
	if !memory.Passwords.TryReserve("", memory.Passwords.Max()) {
		t.Fatal("the memory for passwords is in use")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := hashing(memory).Hash(ended, "a long walk by the sea"); err == nil {
		t.Error("a password is hashed in memory that is in use")
	}
}

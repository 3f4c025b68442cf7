package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/mail/mailtest"
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

func TestACommandMailsItsLinkAndPrintsIt(t *testing.T) {
	t.Parallel()
	b, server := newBinary(t, sqliteURL(t)), mailtest.Start(t, false, false)
	b.ok("migrate", "up")
	b.environ = append(b.environ, "SLUICE_PUBLIC_URL="+publicURL, "SLUICE_SMTP_URL="+server.URL("smtp"))
	made := b.json("user", "create", "--email", "anna@example.com", "--language", "es")
	owner := b.json("tenant", "create", "--name", "Acme")["tenantId"].(string)
	added := b.json("member", "add", "--tenant", owner, "--email", "bert@example.com", "--role", "viewer")
	mails := server.Received(t)
	if len(mails) != 2 || made["mailed"] != true || mails[0].To != "anna@example.com" || mails[0].Subject != "Invitación a Sluice" || !strings.Contains(mails[0].Text, fmt.Sprint(made["link"])) ||
		mails[1].Subject != "You are invited to Acme" || !strings.Contains(mails[1].Text, fmt.Sprint(added["link"])) {
		t.Errorf("mailed are %+v", mails)
	}
	code, stdout, stderr := b.run("user", "create", "--email", mailtest.Unknown, "--json")
	if want := "sluice: the link was not mailed: The mail server does not take messages for this address."; code != exitDone || !strings.HasPrefix(stderr, want) || !strings.Contains(stdout, `"mailed": false`) || !strings.Contains(stdout, publicURL) {
		t.Errorf("%d, %s, %s", code, stdout, stderr)
	}
	b.environ = append(b.environ, "SLUICE_SMTP_URL=smtp://sluice:"+"hunter2"+"@mail.example.com")
	if code, _, stderr := b.run("user", "list"); code != exitUsage || !strings.Contains(stderr, "SLUICE_SMTP_URL must be smtp://") || strings.Contains(stderr, "hunter2") {
		t.Errorf("%d, %s", code, stderr)
	}
}

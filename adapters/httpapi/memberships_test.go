package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/portstest"
)

const bert = `{"email":"bert@example.com","role":"editor"}`

func TestAnAdminInvitesMembers(t *testing.T) {
	for _, mail := range []*portstest.Mailbox{{}, {IsEnabled: true}} {
		g := newGateway(t)
		*g.mail = *mail
		c := g.customer("Acme")
		admin := g.member(c.id, tenant.AdminRole)
		path := membersPath(c.id, "/members")
		add := func() answer { return g.by(admin, http.MethodPost, path, bert, "X-Idempotency-Key", "bert") }
		made := add()
		if made.status != http.StatusCreated || made.field(t, "role") != "editor" || made.field(t, "hasEntered") != false {
			t.Fatalf("got %d: %s", made.status, made.body)
		}
		link, shown := made.field(t, "link").(string)
		mailed := made.field(t, "isMailed")
		if shown == mail.IsEnabled || mail.IsEnabled && mailed != true || !mail.IsEnabled && mailed != nil {
			t.Errorf("with the mailbox %+v the answer is %s", mail, made.body)
		}
		again := add()
		if mail.IsEnabled {
			if err := g.mails.SendDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, link, _ = strings.Cut(g.mail.Sent[0].Text, publicURL)
			link = publicURL + strings.SplitN(link, "\n", 2)[0]
		}
		if again.status != http.StatusCreated || again.header.Get("Idempotent-Replayed") != "true" || again.field(t, "id") != made.field(t, "id") || again.field(t, "link") != nil || len(g.mail.Sent) > 1 {
			t.Errorf("the repeat got %d: %s", again.status, again.body)
		}
		token := strings.TrimPrefix(link, publicURL+"/console/l/")
		in := g.send(http.MethodPost, "/console/api/links/"+token, "", `{"password":"`+goodPassword+`"}`)
		if in.status != http.StatusNoContent {
			t.Fatalf("the link %s got %d: %s", link, in.status, in.body)
		}
		cookie, _, _ := strings.Cut(in.header.Get("Set-Cookie"), ";")
		if got := g.send(http.MethodPost, membersPath(c.id, "/workflows"), "", `{"name":"Of Bert"}`, "Cookie", cookie); got.status != http.StatusCreated {
			t.Errorf("the new editor got %d: %s", got.status, got.body)
		}
		if all := g.by(admin, http.MethodGet, path, ""); all.field(t, "total") != 2.0 || strings.Count(all.body, `"hasEntered":true`) != 2 {
			t.Errorf("the members are %s", all.body)
		}
	}
}

func TestAnInvitationIsCheckedAtOnceAndAsAWhole(t *testing.T) {
	g := newGateway(t)
	c, other := g.customer("Acme"), g.customer("Other")
	admin, theirs := g.member(c.id, tenant.AdminRole), g.member(other.id, tenant.AdminRole)
	path := membersPath(c.id, "/members")
	post := func(body string) answer { return g.by(admin, http.MethodPost, path, body) }
	if got := post(`{"email":"nobody","role":"owner"}`); got.status != http.StatusBadRequest || got.field(t, "code") != "member_invalid" ||
		cmp.Diff([]string{"email bad_format", "role not_allowed"}, got.violations(t)) != "" {
		t.Errorf("got %d: %s", got.status, got.body)
	}
	if got := post(`{"email":"bert@example.com","role":"editor","tenantId":"` + string(other.id) + `"}`); got.status != http.StatusBadRequest {
		t.Errorf("an unknown member of the body got %d: %s", got.status, got.body)
	}
	for body, code := range map[string]string{
		fmt.Sprintf(`{"email":"%s@example.com","role":"viewer"}`, admin.user):  "member_exists",
		fmt.Sprintf(`{"email":"%s@example.com","role":"viewer"}`, theirs.user): "invitation_needs_mail",
	} {
		if got := post(body); got.status != http.StatusConflict || got.field(t, "code") != code {
			t.Errorf("%s got %d: %s", body, got.status, got.body)
		}
	}
}

func TestARoleIsChangedUnlessSomebodyElseDidOrNoAdminIsLeft(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	admin, member := g.member(c.id, tenant.AdminRole), g.member(c.id, tenant.ViewerRole)
	change := func(of somebody, role tenant.Role, etag string) answer {
		return g.by(admin, http.MethodPatch, membersPath(c.id, "/members/"+string(of.member)), `{"role":"`+string(role)+`"}`, "If-Match", etag)
	}
	if got := change(admin, tenant.EditorRole, "*"); got.status != http.StatusConflict || got.field(t, "code") != "last_admin" {
		t.Errorf("the last admin got %d: %s", got.status, got.body)
	}
	if got := change(admin, tenant.AdminRole, "*"); got.status != http.StatusOK {
		t.Errorf("an admin who stays one got %d: %s", got.status, got.body)
	}
	got := change(member, tenant.ApproverRole, `"1"`)
	if got.status != http.StatusOK || got.field(t, "role") != "approver" || got.header.Get("ETag") != `"2"` {
		t.Errorf("got %d: %s", got.status, got.body)
	}
	if got := change(member, tenant.EditorRole, `"1"`); got.status != http.StatusPreconditionFailed {
		t.Errorf("a stale change got %d: %s", got.status, got.body)
	}
	if got := change(member, "owner", "*"); got.status != http.StatusBadRequest || got.field(t, "code") != "member_invalid" {
		t.Errorf("an unknown role got %d: %s", got.status, got.body)
	}
	remove := func(of somebody) answer {
		return g.by(admin, http.MethodDelete, membersPath(c.id, "/members/"+string(of.member)), "")
	}
	if got := remove(admin); got.status != http.StatusConflict || got.field(t, "code") != "last_admin" {
		t.Errorf("the last admin got %d: %s", got.status, got.body)
	}
	if got := remove(member); got.status != http.StatusNoContent {
		t.Errorf("got %d: %s", got.status, got.body)
	}
	if got := remove(member); got.status != http.StatusNotFound || got.field(t, "code") != "member_not_found" {
		t.Errorf("who is gone got %d: %s", got.status, got.body)
	}
}

func TestOfTwoAdminsWhoDemoteEachOtherOneStays(t *testing.T) {
	g := newGateway(t)
	other := g.another()
	for i := range 8 {
		c := g.customer(fmt.Sprint("Acme ", i))
		one, two := g.member(c.id, tenant.AdminRole), g.member(c.id, tenant.AdminRole)
		got := make([]answer, 2)
		var both sync.WaitGroup
		both.Go(func() {
			got[0] = g.by(one, http.MethodPatch, membersPath(c.id, "/members/"+string(two.member)), `{"role":"editor"}`)
		})
		both.Go(func() {
			got[1] = other.by(two, http.MethodPatch, membersPath(c.id, "/members/"+string(one.member)), `{"role":"editor"}`)
		})
		both.Wait()
		if (got[0].status == http.StatusOK) == (got[1].status == http.StatusOK) {
			t.Errorf("they got %d: %s and %d: %s", got[0].status, got[0].body, got[1].status, got[1].body)
		}
	}
}

package httpapi_test

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// audited reads a tenant's log, or the operator's, the oldest first.
func (g *gateway) audited(owner tenant.ID) (all []audit.Entry) {
	g.Helper()
	err := g.store.Read(g.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		all, err = st.Audit.Log.After(ctx, owner, audit.Filter{}, outbound.AuditPlace{}, 10_000)
		return err
	})
	if err != nil {
		g.Fatal(err)
	}
	return all
}

// changing has a body for each PATCH, by its operation, and other paths than a fixture's where a record would be
// gone with another one.
var changing = map[tenant.Operation]string{
	tenant.ChangeWorkflow: `{"name":"changed"}`, tenant.ChangeVersion: `{"metadata":{"a":"b"}}`, tenant.ChangeTrigger: `{"name":"changed"}`, tenant.ChangeHook: `{"isActive":false}`,
	tenant.ChangeSubTenant: `{"name":"changed"}`, tenant.ChangeCustomNode: `{"name":"changed"}`, tenant.ChangeSettings: `{"language":"es"}`,
	tenant.ChangeWebhookEndpoint: `{"isActive":false}`, tenant.ChangeConnection: `{"isActive":false}`,
}

// TestEveryRouteThatChangesSomethingIsRecorded asks each route once, what makes something first and what removes it last. A
// new route without an entry fails it: it is recorded by its repository (application/audit), or its operation stands
// among those that are not, with the reason (tenant.Operation.Unrecorded).
func TestEveryRouteThatChangesSomethingIsRecorded(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	e.ids["triggers"] = e.ids["listening"]
	g.publishAnother(e)
	bodies, operations := posts(e), httpapi.Operations(g.api)
	own := g.send(http.MethodPost, "/v1/gateway/workflow-versions", e.secret, fmt.Sprintf(`{"workflowId":%q}`, e.ids["workflows"])).field(t, "id")
	ownTrigger := g.send(http.MethodPost, "/v1/gateway/triggers", e.secret, fmt.Sprintf(`{"workflowVersionId":%q,"name":"own","type":"webhook","config":{}}`, own)).field(t, "id")
	publishable := g.send(http.MethodPost, "/v1/gateway/workflow-versions", e.secret, fmt.Sprintf(
		`{"workflowId":%q,"nodes":[{"id":"a","type":"transform","version":"1.0.0","name":"A","config":{"transformType":"expression","expression":"1"}}]}`, e.ids["workflows"])).field(t, "id")
	order := func(r httpapi.Route) int {
		return slices.Index([]string{http.MethodPost, http.MethodPatch, http.MethodDelete}, r.Method)
	}
	last := func(op tenant.Operation) int { // those that others stand in the way of, or that take others with them
		return slices.Index([]tenant.Operation{tenant.CancelJob, tenant.StartJob, tenant.ReplayDelivery, tenant.Erase, tenant.DeleteVersion, tenant.DeleteWorkflow}, op)
	}
	routes := slices.SortedStableFunc(slices.Values(routesBehindKeys(g)), func(a, b httpapi.Route) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(last(operations[a]), last(operations[b])))
	})
	seen := make(map[tenant.Operation]bool)
	for i, r := range routes {
		if r.Method == http.MethodGet {
			continue
		}
		op := operations[r]
		path, _ := e.fill(r.Path)
		body := bodies[strings.TrimPrefix(path, "/v1/gateway")][0]
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(path, "/hook"):
			path = strings.Replace(path, e.ids["triggers"], e.ids["unhooked"], 1)
			body = bodies[strings.TrimPrefix(path, "/v1/gateway")][0]
		case strings.HasSuffix(path, "/retry"):
			path = strings.Replace(path, e.ids["runs"], e.ids["failed"], 1)
		case op == tenant.PublishVersion:
			path = fmt.Sprintf("/v1/gateway/workflow-versions/%v/publish", publishable)
		case r.Method == http.MethodPatch:
			body = changing[op]
		case r.Path == "/v1/gateway/embed-tokens" && r.Method == http.MethodDelete:
			path += "?subTenantId=a"
		case op == tenant.DeleteTrigger:
			path = fmt.Sprintf("/v1/gateway/triggers/%v", ownTrigger)
		case op == tenant.DeleteVersion:
			path = fmt.Sprintf("/v1/gateway/workflow-versions/%v", own)
		}
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			g.clock.Set(noon.Add(time.Duration(i) * time.Minute))
			before := g.audited(e.id)
			got := g.send(r.Method, path, e.secret, body, "X-Request-Id", "the-request")
			if got.status >= http.StatusBadRequest {
				t.Fatalf("%s %s got %d: %s", r.Method, path, got.status, got.body)
			}
			made := g.audited(e.id)[len(before):]
			if reason, unrecorded := op.Unrecorded(); unrecorded {
				if len(made) > 0 || reason == "" {
					t.Errorf("%s is not recorded, since %q; the log has %+v", op, reason, made)
				}
				return
			}
			if len(made) == 0 {
				t.Fatalf("the log has no entry of %s", op)
			}
			seen[op] = true
			for _, one := range made {
				if one.Action != string(op) || one.ActorKind != audit.ByKey || one.ActorID == "" || one.RequestID != "the-request" || one.Address() != "192.0.2.1" || !one.At.Equal(g.clock.Now()) {
					t.Errorf("%+v", one)
				}
			}
			if again := g.send(r.Method, "/v1/gateway/workflows/wf_00000000000000000000000000", e.public, "{}"); again.status < http.StatusBadRequest || len(g.audited(e.id)) != len(before)+len(made) {
				t.Errorf("a request that is refused got %d, and is recorded", again.status)
			}
		})
	}
	g.recordsMembers(e, seen)
	for _, p := range tenant.Permissions() {
		_, unrecorded := p.Operation.Unrecorded()
		if reads := strings.HasPrefix(string(p.Operation), "read") || strings.HasPrefix(string(p.Operation), "follow"); !reads && !unrecorded && !seen[p.Operation] {
			t.Errorf("no entry of %s was seen", p.Operation)
		}
	}
	for op := range changing {
		if !slices.ContainsFunc(routes, func(r httpapi.Route) bool { return operations[r] == op }) {
			t.Errorf("there is no route for %s any more", op)
		}
	}
}

// recordsMembers adds, changes and removes a member, which takes a session.
func (g *gateway) recordsMembers(e fixture, seen map[tenant.Operation]bool) {
	g.Helper()
	admin := g.member(e.id, tenant.AdminRole)
	path := membersPath(e.id, "/v1/gateway/members")
	before := len(g.audited(e.id))
	added := g.by(admin, http.MethodPost, path, `{"email":"new@example.com","role":"viewer"}`)
	one := path + "/" + fmt.Sprint(added.field(g.T, "id"))
	g.by(admin, http.MethodPatch, one, `{"role":"editor"}`)
	g.by(admin, http.MethodDelete, one, "")
	var said []string
	for _, one := range g.audited(e.id)[before:] {
		seen[tenant.Operation(one.Action)] = true
		if one.ActorKind != audit.ByMember || one.ActorID != string(admin.user) {
			g.Errorf("%+v", one)
		}
		for _, c := range one.Changes() {
			if c.Field == "role" {
				said = append(said, one.Action+" "+c.Old+" "+c.New)
			}
		}
	}
	if diff := godiff.Diff([]string{`addMember  "viewer"`, `changeMember "viewer" "editor"`, `removeMember "editor" `}, said); diff != "" {
		g.Error(added.body, diff)
	}
}

func TestTheLogSaysWhoChangedWhat(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	before := len(g.audited(e.id))
	path := "/v1/gateway/workflows/" + e.ids["workflows"]
	g.clock.Set(noon.Add(time.Hour))
	g.send(http.MethodPatch, path, e.secret, `{"name":"Renamed"}`)
	g.send(http.MethodPatch, path, e.secret, `{"name":"Renamed"}`) // which changes nothing
	s := g.member(e.id, tenant.EditorRole)
	g.by(s, http.MethodPatch, membersPath(e.id, path), `{"isActive":false}`)
	token := g.send(http.MethodPost, "/v1/gateway/embed-tokens", e.secret, fmt.Sprintf(`{"subTenantId":%q,"preset":"editor","subject":"anna"}`, e.ids["subTenantId"])).field(t, "token")
	g.send(http.MethodPatch, path, fmt.Sprint(token), `{"metadata":{"a":"b"}}`)
	g.send(http.MethodPost, "/v1/gateway/connections", e.secret, `{"name":"Paid","kind":"bearer","hosts":["api.example.com"],"secret":{"token":"s3cret-and-long"}}`)
	var got []string
	for _, one := range g.audited(e.id)[before:] {
		actor := one.Actor()
		said := fmt.Sprintf("%s %s %s %s", actor.Kind, actor.Subject, one.Action, one.Target.Kind)
		for _, c := range one.Changes() {
			if c.Field != "expiresAt" && c.Field != "lastFour" {
				said += fmt.Sprintf(" %s: %s > %s,", c.Field, c.Old, c.New)
			}
		}
		got = append(got, said)
	}
	marker := `"` + e.marker() + `"`
	want := []string{
		"apiKey  changeWorkflow workflow name: " + marker + ` > "Renamed",`,
		"member  changeWorkflow workflow isActive: true > false,",
		`apiKey  createEmbedToken embedToken permissions:  > ["workflows:read","workflows:write","workflows:publish","triggers:read","triggers:write","runs:read","runs:start","runs:act","connections:read","connections:write"], subTenantId:  > "segment of Acme", subject:  > "anna", type:  > "embed",`,
		`embedToken anna changeWorkflow workflow metadata:  > {"a":"b"},`,
		`apiKey  createConnection connection hosts:  > ["api.example.com"], isActive:  > true, kind:  > "bearer", name:  > "Paid", secret:  > "[redacted]", shared:  > false,`,
	}
	if diff := godiff.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheOperatorsChangesStandInTheOperatorsLog(t *testing.T) {
	g := newGateway(t)
	ask := func(method, path, body string) answer {
		return g.send(method, "/v1/operator"+path, "", body, "Authorization", "Bearer "+operatorToken, "X-Request-Id", "r")
	}
	id := fmt.Sprint(ask(http.MethodPost, "/tenants", `{"name":"Acme"}`).field(t, "id"))
	key := ask(http.MethodPost, "/tenants/"+id+"/api-keys", `{"type":"secret","name":"k"}`).field(t, "id")
	fresh := ask(http.MethodPost, fmt.Sprintf("/tenants/%s/api-keys/%v/rotate", id, key), "{}").field(t, "id")
	for _, one := range []struct{ method, path, body string }{
		{http.MethodPatch, "/tenants/" + id, `{"name":"Other"}`}, {http.MethodPost, "/tenants/" + id + "/suspend", ""}, {http.MethodPost, "/tenants/" + id + "/resume", ""},
		{http.MethodDelete, fmt.Sprintf("/tenants/%s/api-keys/%v", id, fresh), ""},
	} {
		if got := ask(one.method, one.path, one.body); got.status >= http.StatusBadRequest {
			t.Fatalf("%s %s got %d: %s", one.method, one.path, got.status, got.body)
		}
	}
	said := func(owner tenant.ID) (all []string) {
		for _, one := range g.audited(owner) {
			if actor := one.Actor(); actor.Kind != audit.ByOperator || actor.Name == "" || one.RequestID != "r" {
				t.Errorf("%+v", one)
			}
			all = append(all, one.Action+" "+one.Target.Kind)
		}
		return all
	}
	theirs := []string{"createTenant apiKey", "createTenant apiKey", "createApiKey apiKey", "rotateApiKey apiKey", "rotateApiKey apiKey", "changeTenant tenant", "suspendTenant tenant", "resumeTenant tenant", "revokeApiKey apiKey"}
	if diff := godiff.Diff(theirs, said(tenant.ID(id))); diff != "" {
		t.Error(diff)
	}
	if got := ask(http.MethodDelete, "/tenants/"+id, ""); got.status != http.StatusNoContent {
		t.Fatal(got.status, got.body)
	}
	if diff := godiff.Diff(append(append([]string{"createTenant tenant"}, theirs...), "deleteTenant tenant"), said("")); diff != "" {
		t.Error(diff)
	}
}

func TestARunThatTheOperatorCancelsStandsInBothLogs(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	got := g.send(http.MethodPost, "/v1/operator/runs/"+e.ids["runs"]+"/cancel", "", `{"reason":"stuck"}`, "Authorization", "Bearer "+operatorToken)
	if got.status != http.StatusOK {
		t.Fatal(got.status, got.body)
	}
	for owner, want := range map[tenant.ID][]audit.Change{e.id: nil, "": {{Field: "tenantId", New: `"` + string(e.id) + `"`}}} {
		all := g.audited(owner)
		if len(all) == 0 {
			t.Fatalf("nothing in the log of %q", owner)
		}
		last := all[len(all)-1]
		if last.Action != string(tenant.CancelRun) || last.ActorKind != audit.ByOperator || last.Target != (audit.Target{Kind: "run", ID: e.ids["runs"]}) || godiff.Diff(want, last.Changes()) != "" {
			t.Errorf("%q: %+v", owner, last)
		}
	}
}

func TestTheLogIsListedAndExportedAlike(t *testing.T) {
	g := newGateway(t)
	e, theirs := g.fixture("Acme"), g.fixture("Other")
	for i := range 30 {
		g.clock.Set(noon.Add(time.Duration(i) * time.Minute))
		g.send(http.MethodPost, "/v1/gateway/sub-tenants", e.secret, fmt.Sprintf(`{"name":"=n%d"}`, i), "X-Request-Id", fmt.Sprintf("=r%d", i))
	}
	const filter = "?action=createSubTenant&from=2026-11-21T12:01:00Z&to=2026-11-21T12:29:00Z"
	var ids []string
	for offset := 0; ; offset += 10 {
		page := g.send(http.MethodGet, fmt.Sprintf("/v1/gateway/audit-log%s&limit=10&offset=%d&sortOrder=asc", filter, offset), e.secret, "")
		var list struct {
			Items []struct{ ID string }
			Total int
		}
		if err := json.Unmarshal([]byte(page.body), &list); err != nil || page.status != http.StatusOK {
			t.Fatal(page.status, page.body, err)
		}
		if list.Total != 28 || strings.Contains(page.body, string(theirs.id)) {
			t.Errorf("%d in all: %s", list.Total, page.body)
		}
		if len(list.Items) == 0 {
			break
		}
		for _, one := range list.Items {
			ids = append(ids, one.ID)
		}
	}
	lines := g.send(http.MethodGet, "/v1/gateway/audit-log/export"+filter, e.secret, "")
	rows, err := csv.NewReader(strings.NewReader(g.send(http.MethodGet, "/v1/gateway/audit-log/export"+filter+"&format=csv", e.secret, "").body)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var ofLines, ofRows []string
	for line := range strings.Lines(lines.body) {
		var one struct{ ID string }
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(line, err)
		}
		ofLines = append(ofLines, one.ID)
	}
	for _, row := range rows[1:] {
		ofRows = append(ofRows, row[1])
		if !strings.HasPrefix(row[10], "'=r") {
			t.Errorf("a spreadsheet computes %q", row[10])
		}
	}
	if diff := godiff.Diff(ids, ofLines) + godiff.Diff(ids, ofRows); diff != "" || len(ids) != 28 {
		t.Error(len(ids), diff)
	}
	if got := g.send(http.MethodGet, "/v1/gateway/audit-log/export?format=xml&from=yesterday", e.secret, ""); got.status != http.StatusBadRequest || strings.Count(got.body, `"field"`) != 2 {
		t.Error(got.status, got.body)
	}
}

func TestAConsentThatIsGivenStandsInTheLog(t *testing.T) {
	c := newConsenting(t)
	cookie, next := c.open(c.link())
	before := len(c.audited(c.owner.id))
	if done := c.comeBack(cookie, c.server.Visit(t, next)); done.status != http.StatusOK {
		t.Fatal(done.status, done.body)
	}
	made := c.audited(c.owner.id)[before:]
	if len(made) != 1 {
		t.Fatal(made)
	}
	one := made[0]
	if one.ActorKind != audit.ByLink || one.Action != "giveConsent" || one.Target != (audit.Target{Kind: "connection", ID: strings.TrimPrefix(c.path, "/v1/gateway/connections/")}) || one.Address() == "" || one.RequestID == "" {
		t.Errorf("%+v", one)
	}
	want := []audit.Change{{Field: "accessToken", New: domain.Redacted}, {Field: "refreshToken", New: domain.Redacted}, {Field: "scopes", New: `["openid","offline_access"]`}}
	if diff := godiff.Diff(want, one.Changes()); diff != "" {
		t.Error(diff)
	}
	if got := c.send(http.MethodGet, "/v1/gateway/audit-log?action=giveConsent", c.owner.secret, ""); got.field(t, "total") != 1.0 {
		t.Error(got.body)
	}
}

func TestAPublishThatMovesTriggersSaysSoOfEach(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	made := g.send(http.MethodPost, "/v1/gateway/workflow-versions", e.secret, fmt.Sprintf(
		`{"workflowId":%q,"nodes":[{"id":"a","type":"transform","version":"1.0.0","name":"A","config":{"transformType":"expression","expression":"1"}}]}`, e.ids["workflows"])).field(t, "id")
	g.send(http.MethodPost, fmt.Sprintf("/v1/gateway/workflow-versions/%v/publish", made), e.secret, "")
	trigger := g.send(http.MethodPost, "/v1/gateway/triggers", e.secret, fmt.Sprintf(`{"workflowVersionId":%q,"name":"own","type":"webhook","config":{}}`, made)).field(t, "id")
	before := len(g.audited(e.id))
	g.publishAnother(e)
	said := false
	for _, one := range g.audited(e.id)[before:] {
		if one.Target == (audit.Target{Kind: "trigger", ID: trigger.(string)}) {
			changes := one.Changes()
			said = one.Action == string(tenant.PublishVersion) && len(changes) == 1 && changes[0].Field == "workflowVersionId" && changes[0].Old == fmt.Sprintf("%q", made)
		}
	}
	if !said {
		t.Errorf("the trigger has no entry: %+v", g.audited(e.id)[before:])
	}
}

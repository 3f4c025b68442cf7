package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/deploy/harness"
)

// upgrade is a binary and its successor, which has a higher level and a node type that needs
// it, on one PostgreSQL.
type upgrade struct {
	*testing.T
	older, newer binary
}

func TestTwoVersionsRunNextToEachOther(t *testing.T) {
	fixture.TableOnly(t, "the programs that it builds have no other engine")
	build := func(linked ...string) string {
		program, err := harness.Build(t.Context(), t.TempDir(), linked...)
		if err != nil {
			t.Fatal(err)
		}
		return program
	}
	older, newer := build("main.linkedLevel=8"), build("main.linkedLevel=9", module+"domain/node.linkedLevel=9")
	for claim, check := range map[string]func(u *upgrade){
		"the older one leaves what it does not know to the newer one, and does not start once that is in use": upgraded,
		"an older process that was frozen stops when it wakes up":                                             frozenMeanwhile,
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			b := newBinary(t, postgresURL(t))
			b.ok("migrate", "up")
			b.environ = append(b.environ, "SLUICE_OPERATOR_TOKEN="+operatorToken)
			u := &upgrade{T: t, older: b, newer: b}
			u.older.program, u.newer.program = older, newer
			check(u)
		})
	}
}

// customer makes a tenant with the example, which needs no level.
func (u *upgrade) customer(name string) (key, version, call string) {
	u.Helper()
	made := binary{T: u.T, environ: u.older.environ}.json("tenant", "create", "--name", name, "--example")
	return fmt.Sprint(made["secretKey"]), fmt.Sprint(made["workflowVersionId"]), fmt.Sprintf("/v1/gateway/triggers/%s/webhook", made["triggerId"])
}

// run starts a run of the example about an entity.
func (u *upgrade) run(p *process, key, call, entity string) {
	u.Helper()
	if status, body := p.request(u.T, http.MethodPost, call, key, `{"eventData":{"id":"1","amount":2000},"entityId":"`+entity+`"}`); status != http.StatusOK {
		u.Fatalf("%d %s", status, body)
	}
}

// completes waits for the run about an entity.
func (u *upgrade) completes(p *process, key, entity string) {
	u.Helper()
	p.server.await(u.T, "/v1/gateway/runs?entityId="+entity, key, `"status":"completed"`)
}

// draft makes a version with a node of the type that needs the level.
func (u *upgrade) draft(p *process, key string) (publish string) {
	u.Helper()
	id := func(path, body string) string {
		status, text := p.request(u.T, http.MethodPost, "/v1/gateway"+path, key, body)
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated {
			u.Fatalf("%s: %d %s", path, status, text)
		}
		return made.ID
	}
	ver := id("/workflow-versions", `{"workflowId":"`+id("/workflows", `{"name":"Later"}`)+`",
		"nodes":[{"id":"rest","type":"wait","version":"1.0.0","name":"Rest","config":{"delayMs":1}}],"edges":[]}`)
	return "/v1/gateway/workflow-versions/" + ver + "/publish"
}

// exec runs a statement of SQL.
func (u *upgrade) exec(statement string, args ...any) {
	u.Helper()
	db, err := sql.Open("postgres", strings.TrimPrefix(u.older.environ[0], "SLUICE_DATABASE_URL="))
	if err != nil {
		u.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing is pending
	if _, err := db.ExecContext(u.Context(), statement, args...); err != nil {
		u.Fatal(err)
	}
}

// processes lists the levels of those that are alive, and the one that is required.
func (u *upgrade) processes(p *process) string {
	u.Helper()
	status, text := p.operate(u.T, http.MethodGet, "/v1/operator/processes", "")
	var listed struct {
		Items         []struct{ Level int }
		RequiredLevel int
	}
	if err := json.Unmarshal([]byte(text), &listed); err != nil || status != http.StatusOK {
		u.Fatalf("%d %s", status, text)
	}
	return fmt.Sprint(listed)
}

func (u *upgrade) lists(p *process, want string) {
	u.Helper()
	if got := u.processes(p); got != want {
		u.Errorf("there are %s, not %s", got, want)
	}
}

func upgraded(u *upgrade) {
	older := u.older.spawn("serve")
	u.lists(older, "{[{8}] 2}")
	held, version, holds := u.customer("Acme")
	plain, _, calls := u.customer("Other")

	// A version that needs the level: the older process starts its run, and leaves it alone,
	// while it works on what comes behind.
	u.exec(`UPDATE workflow_versions SET needs_level = 9 WHERE id = $1`, version)
	u.run(older, held, holds, "waits")
	u.run(older, plain, calls, "first")
	u.completes(older, plain, "first")
	if _, body := older.request(u.T, http.MethodGet, "/v1/gateway/runs?entityId=waits", held, ""); !strings.Contains(body, `"status":"pending"`) {
		u.Errorf("the older process worked on %s", body)
	}
	newer := u.newer.spawn("serve")
	u.completes(newer, held, "waits")
	u.lists(newer, "{[{8} {9}] 2}")

	// What needs all processes to have the level stays off until the older one has stopped.
	publish := u.draft(newer, plain)
	if status, body := newer.request(u.T, http.MethodPost, publish, plain, ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "upgrade_in_progress") {
		u.Errorf("publishing next to an older process: %d %s", status, body)
	}
	u.lists(newer, "{[{8} {9}] 2}")
	if code := older.exit(u.T, syscall.SIGTERM); code != exitDone {
		u.Errorf("the older process ended with %d: %s", code, older.stderr)
	}
	u.lists(newer, "{[{9}] 2}")
	if status, body := newer.request(u.T, http.MethodPost, publish, plain, ""); status != http.StatusOK {
		u.Errorf("publishing without an older process: %d %s", status, body)
	}
	u.lists(newer, "{[{9}] 9}")
	u.run(newer, plain, calls, "second")
	u.completes(newer, plain, "second")

	// From then on older ones are refused.
	for _, args := range [][]string{{"serve"}, {"tenant", "list"}} {
		refused := u.older.launch(nil, args...)
		if code := refused.await(u.T); code != exitFailed || !strings.Contains(refused.stderr.String(), "feature level 9") {
			u.Errorf("sluice %v of the older version ended with %d: %s", args, code, refused.stderr)
		}
	}
	u.lists(newer, "{[{9}] 9}")
}

func frozenMeanwhile(u *upgrade) {
	older, newer := u.older.spawn("serve"), u.newer.spawn("serve")
	key, _, _ := u.customer("Acme")
	publish := u.draft(newer, key)
	if err := older.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		u.Fatal(err)
	}
	u.exec(`UPDATE processes SET seen_at = seen_at - interval '1 hour' WHERE level = 8`) // instead of waiting
	if status, body := newer.request(u.T, http.MethodPost, publish, key, ""); status != http.StatusOK {
		u.Errorf("publishing next to a frozen process: %d %s", status, body)
	}
	if code := older.exit(u.T, syscall.SIGCONT); code != exitFailed || !strings.Contains(older.stderr.String(), "too old") {
		u.Errorf("the older process ended with %d: %s", code, older.stderr)
	}
}

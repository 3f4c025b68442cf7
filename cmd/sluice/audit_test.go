package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// database opens the database of a binary next to the program.
func (b binary) database() *sql.DB {
	b.Helper()
	address := strings.TrimPrefix(b.environ[0], "SLUICE_DATABASE_URL=")
	driver := "postgres"
	if file, ok := strings.CutPrefix(address, "sqlite:"); ok {
		driver, address = "sqlite", "file:"+file+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() }) // nothing is pending
	return db
}

// TestAnAuditLogThatWasTamperedWithIsFound has a gateway and commands write a log, and the gateway seal it.
func TestAnAuditLogThatWasTamperedWithIsFound(t *testing.T) {
	skipUnderRace(t)
	databases(t, func(t *testing.T, b binary) {
		b.ok("migrate", "up")
		made := b.json("tenant", "create", "--name", "Acme")
		owner, key := fmt.Sprint(made["tenantId"]), fmt.Sprint(made["secretKey"])
		if heads := b.ok("audit", "heads"); !strings.Contains(heads, owner) || !strings.Contains(heads, operatorsChain) {
			t.Error("a command does not seal what it has changed:", heads)
		}
		s := b.start("serve")
		for i := range 6 {
			if status, body := s.request(t, http.MethodPost, "/v1/gateway/sub-tenants", key, fmt.Sprintf(`{"name":"n%d"}`, i)); status != http.StatusCreated {
				t.Fatal(status, body)
			}
		}
		s.await(t, "/v1/gateway/audit-log", key, `"sequence":8,`)
		if code := s.stop(); code != exitDone {
			t.Fatal(s.stderr)
		}
		head := func() (hash string) {
			var all []shownHead
			if err := json.Unmarshal([]byte(b.ok("audit", "heads", "--json")), &all); err != nil {
				t.Fatal(err)
			}
			for _, h := range all {
				if string(h.Tenant) == owner {
					hash = h.Hash
				}
			}
			return hash
		}
		db, known := b.database(), head()
		exec := func(statements ...string) {
			t.Helper()
			for _, one := range statements {
				if _, err := db.ExecContext(t.Context(), strings.ReplaceAll(one, "$owner", "'"+owner+"'")); err != nil {
					t.Fatalf("%s: %v", one, err)
				}
			}
		}
		exec(`CREATE TABLE kept_entries AS SELECT * FROM audit_entries`, `CREATE TABLE kept_heads AS SELECT * FROM audit_heads`)
		for claim, one := range map[string]struct {
			do   []string
			said string // empty where it is whole
			head string
		}{
			"nothing, by itself":                 {},
			"nothing, with a head":               {head: known},
			"nothing, with a head's number":      {head: "8:" + known},
			"what was removed before its time":   {do: []string{`UPDATE audit_heads SET pruned_seq = 2, pruned_hash = (SELECT hash FROM audit_entries WHERE tenant_id = $owner AND seq = 2), pruned_at = (SELECT at FROM audit_entries WHERE tenant_id = $owner AND seq = 2) WHERE tenant_id = $owner`, `DELETE FROM audit_entries WHERE tenant_id = $owner AND seq <= 2`}, said: "removed before their time"},
			"a value that was altered":           {do: []string{`UPDATE audit_entries SET said = replace(said, 'n3', 'x3') WHERE tenant_id = $owner`}, said: "entry 6 ("},
			"values that cannot be read":         {do: []string{`UPDATE audit_entries SET said = 'x' WHERE tenant_id = $owner AND seq = 5`}, said: "changes.unreadable was altered"},
			"an actor that was altered":          {do: []string{`UPDATE audit_entries SET actor_id = 'key_other' WHERE tenant_id = $owner AND seq = 5`}, said: "entry 5"},
			"a time that was altered":            {do: []string{`UPDATE audit_entries SET at = (SELECT at FROM audit_entries WHERE tenant_id = $owner AND seq = 1) WHERE tenant_id = $owner AND seq = 5`}, said: "entry 5"},
			"an entry that is missing":           {do: []string{`DELETE FROM audit_entries WHERE tenant_id = $owner AND seq = 4`}, said: "1 missing before entry 5"},
			"entries that were swapped":          {do: []string{`UPDATE audit_entries SET seq = CASE seq WHEN 4 THEN 105 ELSE 104 END WHERE tenant_id = $owner AND seq IN (4, 5)`, `UPDATE audit_entries SET seq = seq - 100 WHERE tenant_id = $owner AND seq > 100`}, said: "entry 4"},
			"the newest that were cut":           {do: []string{`DELETE FROM audit_entries WHERE tenant_id = $owner AND seq > 6`}, said: "the newest 2 are missing"},
			"the oldest that were cut":           {do: []string{`DELETE FROM audit_entries WHERE tenant_id = $owner AND seq = 1`}, said: "1 missing before entry 2"},
			"the end that was cut with the head": {do: []string{`DELETE FROM audit_entries WHERE tenant_id = $owner AND seq > 6`, `UPDATE audit_heads SET seq = 6, hash = (SELECT hash FROM audit_entries WHERE tenant_id = $owner AND seq = 6) WHERE tenant_id = $owner`}, said: known, head: known},
			"all of it, with the head":           {do: []string{`DELETE FROM audit_entries WHERE tenant_id = $owner`, `DELETE FROM audit_heads WHERE tenant_id = $owner`}, said: known, head: known},
			"the head":                           {do: []string{`DELETE FROM audit_heads WHERE tenant_id = $owner`}, said: "behind the end of the chain"},
		} {
			exec(one.do...)
			args := []string{"audit", "verify"}
			if one.head != "" {
				args = append(args, "--tenant", owner, "--head", one.head)
			}
			code, stdout, stderr := b.run(args...)
			if whole := one.said == ""; whole != (code == exitDone) || !strings.Contains(stdout, one.said) || !whole && code != exitFailed {
				t.Errorf("%s: %d %s %s", claim, code, stdout, stderr)
			}
			exec(`DELETE FROM audit_entries`, `INSERT INTO audit_entries SELECT * FROM kept_entries`, `DELETE FROM audit_heads`, `INSERT INTO audit_heads SELECT * FROM kept_heads`)
		}
	})
}

// brokenChains are those of two tenants, of which the first one's cannot be read.
type brokenChains struct{ inbound.AuditChains }

// Heads hands out both.
func (brokenChains) Heads(_ context.Context, take func(audit.Head) error) error {
	return errors.Join(take(audit.Head{Tenant: "tenant_1"}), take(audit.Head{Tenant: "tenant_2"}))
}

// Verify fails for the first.
func (brokenChains) Verify(_ context.Context, owner tenant.ID, _ *audit.Known, _ func(int64)) (*audit.Verifier, error) {
	if owner == "tenant_1" {
		return nil, errors.New("a page is damaged")
	}
	return audit.NewVerifier(audit.Head{Pruned: audit.Anchor{Sequence: 3, At: time.Unix(0, 0)}}, nil), nil
}

func TestVerificationGoesOnBehindALogThatCannotBeRead(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	var out, errs strings.Builder
	p := &program{stdout: &out, stderr: &errs}
	err := p.verifyChains(t.Context(), brokenChains{}, "", nil, time.Now())
	if said := out.String(); !errors.Is(err, errNotWhole) || !strings.Contains(said, "it cannot be verified: a page is damaged") || !strings.Contains(said, "tenant_2 is whole: 0 entries checked, 0 values erased, begins behind entry 3 of 1970-01-01") {
		t.Error(err, said)
	}
}

func TestALogThatCannotBeReadAndEntriesThatCannotBothAreReported(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	b.ok("migrate", "up")
	s := b.start("serve")
	var owners []string
	for _, name := range []string{"a", "b", "c"} {
		made := b.json("tenant", "create", "--name", name)
		s.await(t, "/v1/gateway/audit-log", fmt.Sprint(made["secretKey"]), `"sequence":2,`)
		owners = append(owners, fmt.Sprint(made["tenantId"]))
	}
	if code := s.stop(); code != exitDone {
		t.Fatal(s.stderr)
	}
	db := b.database()
	for _, one := range []string{
		`UPDATE audit_entries SET at = 'never' WHERE tenant_id = '` + owners[0] + `'`,
		`UPDATE audit_entries SET said = '[' WHERE tenant_id = '` + owners[1] + `' AND seq = 1`, `UPDATE audit_entries SET actor_id = 'x' WHERE tenant_id = '` + owners[1] + `' AND seq = 2`,
	} {
		if _, err := db.ExecContext(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := b.run("audit", "verify")
	for _, want := range []string{
		owners[0] + " IS NOT WHOLE", "it cannot be verified: ", owners[1] + " IS NOT WHOLE: 2 entries checked", "changes.unreadable was altered", "  entry 2 (", owners[2] + " is whole: 2 entries", "operator is whole",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not said", want)
		}
	}
	if code != exitFailed || t.Failed() {
		t.Errorf("%d\n%s\n%s", code, stdout, stderr)
	}
}

func TestCommandsAreRecordedAndTheirLogIsRead(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	b.ok("migrate", "up")
	owner := fmt.Sprint(b.json("tenant", "create", "--name", "Acme")["tenantId"])
	b.ok("tenant", "update", owner, "--language", "es")
	b.ok("tenant", "suspend", owner)
	b.ok("tenant", "resume", owner)
	issued := b.json("key", "create", "--tenant", owner, "--name", "k")
	rotated := b.json("key", "rotate", fmt.Sprint(issued["id"]), "--tenant", owner)
	b.ok("key", "revoke", fmt.Sprint(rotated["id"]), "--tenant", owner)
	b.ok("tenant", "list")
	actions := func(args ...string) (all []string) {
		for line := range strings.Lines(b.ok(append([]string{"audit", "export"}, args...)...)) {
			var one struct {
				Actor  struct{ Kind, ID string }
				Action string
				Target struct{ Kind string }
			}
			if err := json.Unmarshal([]byte(line), &one); err != nil || one.Actor.Kind != "commandLine" || one.Actor.ID == "" {
				t.Fatal(line, err)
			}
			all = append(all, one.Action+" "+one.Target.Kind)
		}
		return all
	}
	theirs := []string{"createTenant apiKey", "createTenant apiKey", "changeTenant tenant", "suspendTenant tenant", "resumeTenant tenant", "createApiKey apiKey", "rotateApiKey apiKey", "rotateApiKey apiKey", "revokeApiKey apiKey"}
	if diff := cmp.Diff(theirs, actions("--tenant", owner)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"changeTenant tenant"}, actions("--action", "changeTenant", "--target", owner)); diff != "" {
		t.Error(diff)
	}
	if got := actions("--from", time.Now().Add(time.Hour).Format(time.RFC3339)); len(got) > 0 {
		t.Error(got)
	}
	if list := b.ok("audit", "list"); !strings.Contains(list, "suspendTenant  tenant "+owner) || !strings.Contains(list, "language") {
		t.Error(list)
	}
	b.ok("tenant", "delete", owner, "--yes")
	b.ok("secrets", "rotate")
	if diff := cmp.Diff(append(append([]string{"createTenant tenant"}, theirs...), "deleteTenant tenant", "rotateSecrets secrets"), actions()); diff != "" {
		t.Error(diff)
	}
}

func TestEveryCommandIsRecordedOrHasAReasonNotToBe(t *testing.T) {
	skipUnderRace(t)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, one := range cmd.Commands() {
			walk(one)
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "sluice ")
		_, recorded := recordedCommands[path]
		reason, unrecorded := unrecordedCommands[path]
		if !cmd.HasSubCommands() && (recorded == unrecorded || unrecorded && reason == "") {
			t.Errorf("sluice %s must stand either among the commands that are recorded, or among the others with a reason", path)
		}
	}
	walk(new(program).root())
}

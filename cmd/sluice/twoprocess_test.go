package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	_ "github.com/lib/pq" // the driver
)

const registryPath = "/v1/gateway/custom-nodes/registry"

// pair is two gateways, each a process of its own, on one database.
type pair struct {
	*testing.T
	b                  binary
	address            string
	a, other           *process
	id, secret, public string
}

func twoGateways(t *testing.T) *pair {
	t.Helper()
	n := &pair{T: t, address: postgresURL(t)}
	n.b = newBinary(t, n.address)
	n.b.ok("migrate", "up")
	made := n.b.json("tenant", "create", "--name", "Acme")
	n.id, n.secret, n.public = fmt.Sprint(made["tenantId"]), fmt.Sprint(made["secretKey"]), fmt.Sprint(made["publicKey"])
	n.b.ok("tenant", "update", n.id, "--secret-per-minute", "1000000", "--public-per-minute", "1000000")
	n.a, n.other = n.b.spawn("serve"), n.b.spawn("serve")
	return n
}

// status asks a gateway for the registry and returns the status.
func (n *pair) status(p *process, key string) int {
	n.Helper()
	status, _ := p.request(n.T, http.MethodGet, registryPath, key, "")
	return status
}

// send makes a request that must succeed and returns the answer.
func (n *pair) send(p *process, method, path, body string) map[string]any {
	n.Helper()
	status, text := p.request(n.T, method, path, n.secret, body)
	if status >= http.StatusMultipleChoices {
		n.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	var doc map[string]any
	if text != "" {
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			n.Fatal(err)
		}
	}
	return doc
}

// within checks that something becomes true within a time.
func (n *pair) within(most time.Duration, what string, fn func() bool) {
	n.Helper()
	deadline, tick := time.After(most), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		if fn() {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			if !fn() {
				n.Errorf("%s: not within %s", what, most)
			}
			return
		}
	}
}

// issue makes a key on the first gateway, and has both of them remember it.
func (n *pair) issue() (id, key string) {
	n.Helper()
	made := n.send(n.a, http.MethodPost, "/v1/gateway/api-keys", `{"type":"secret","name":"deploy"}`)
	id, key = fmt.Sprint(made["id"]), fmt.Sprint(made["key"])
	for _, p := range []*process{n.a, n.other} {
		for range 3 {
			if status := n.status(p, key); status != http.StatusOK {
				n.Fatalf("a new key: %d", status)
			}
		}
	}
	return id, key
}

func TestWhatOneGatewayChangesTheOtherKnowsWithinASecond(t *testing.T) {
	n := twoGateways(t)
	refused := func(p *process, key string) func() bool {
		return func() bool { return n.status(p, key) == http.StatusUnauthorized }
	}

	id, key := n.issue()
	n.send(n.a, http.MethodDelete, "/v1/gateway/api-keys/"+id, "")
	if status := n.status(n.a, key); status != http.StatusUnauthorized {
		t.Errorf("the gateway that revoked a key: %d", status)
	}
	n.within(time.Second, "a revoked key is refused by the other gateway", refused(n.other, key))

	id, key = n.issue()
	rotated := n.send(n.a, http.MethodPost, "/v1/gateway/api-keys/"+id+"/rotate", "")
	successor := fmt.Sprint(rotated["key"])
	if old, fresh := n.status(n.a, key), n.status(n.a, successor); old != http.StatusUnauthorized || fresh != http.StatusOK {
		t.Errorf("the gateway that rotated a key: %d, and its successor %d", old, fresh)
	}
	n.within(time.Second, "a rotated key is refused by the other gateway", refused(n.other, key))
	if status := n.status(n.other, successor); status != http.StatusOK {
		t.Errorf("its successor with the other gateway: %d", status)
	}

	listed := func(p *process) string {
		_, text := p.request(t, http.MethodGet, registryPath, n.secret, "")
		return text
	}
	before := listed(n.other)
	n.send(n.a, http.MethodPatch, "/v1/gateway/settings", `{"language":"es"}`)
	if listed(n.a) == before {
		t.Error("the registry of the gateway that changed the language is the same")
	}
	n.within(time.Second, "the other gateway's registry in another language", func() bool { return listed(n.other) == listed(n.a) })
	n.send(n.a, http.MethodPost, "/v1/gateway/custom-nodes", `{"type":"acme.enrich","name":"Enrich","version":"1.0.0","endpoint":"https://example.com/run",
		"inputSchema":{},"outputSchema":{},"configSchema":{}}`)
	if !strings.Contains(listed(n.a), `"acme.enrich"`) {
		t.Error("the gateway that added a node type does not list it")
	}
	n.within(time.Second, "a new node type with the other gateway", func() bool { return strings.Contains(listed(n.other), `"acme.enrich"`) })

	n.b.ok("tenant", "suspend", n.id)
	for _, p := range []*process{n.a, n.other} {
		n.within(time.Second, "a tenant that was suspended beside them is refused", refused(p, n.secret))
		n.within(time.Second, "its public key too", refused(p, n.public))
	}
}

func TestAGatewayWhoseChannelIsCutAcceptsNoRevokedKey(t *testing.T) {
	n := twoGateways(t)
	db, err := sql.Open("postgres", n.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing is pending
	const channels = 4                // two of each process: one for changes, one for word of runs
	for range 3 {
		_, key := n.issue()
		// In one transaction, which the notice ends with: nobody is there to hear it.
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		const revoke = `UPDATE api_keys SET revoked_at = now(), revision = revision + 1 WHERE last_four = $1`
		if _, err := tx.ExecContext(t.Context(), revoke, key[len(key)-4:]); err != nil {
			t.Fatal(err)
		}
		// What a listener did last is to listen or a ping, which is empty; a connection that
		// the pool has just made did nothing.
		const cut = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'idle' AND query_start IS NOT NULL AND (query = '' OR query LIKE 'LISTEN%')`
		var ended int
		if err := tx.QueryRowContext(t.Context(), cut).Scan(&ended); err != nil || ended != channels {
			t.Fatalf("cut %d channels, %v", ended, err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*process{n.a, n.other} {
			n.within(time.Second, "a key that was revoked while the channel was cut is refused", func() bool {
				return n.status(p, key) == http.StatusUnauthorized
			})
			for range 20 {
				if status := n.status(p, key); status != http.StatusUnauthorized {
					t.Fatalf("it is accepted again: %d", status)
				}
			}
		}
		n.within(10*time.Second, "both listen again", func() bool {
			const listening = `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND state = 'idle' AND query_start IS NOT NULL AND (query = '' OR query LIKE 'LISTEN%')`
			var there int
			if err := db.QueryRowContext(t.Context(), listening).Scan(&there); err != nil {
				t.Fatal(err)
			}
			return there == channels
		})
	}
}

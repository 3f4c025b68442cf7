package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestTheWorkIsSplitBetweenProcessesOfTwoRoles(t *testing.T) {
	b := newBinary(t, postgresURL(t))
	b.environ = append(b.environ, "SLUICE_OPERATOR_TOKEN="+operatorToken)
	api, worker := b.start("serve", "--role", "api"), b.start("serve", "--role", "worker")
	made := b.json("tenant", "create", "--name", "Acme", "--example")
	key := fmt.Sprint(made["secretKey"])

	call := fmt.Sprintf("/v1/gateway/triggers/%s/webhook", made["triggerId"])
	if status, body := api.request(t, http.MethodPost, call, key, `{"eventData":{"id":"1","amount":2000}}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	api.await(t, "/v1/gateway/runs", key, `"status":"completed"`)

	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/v1/gateway/runs": http.StatusNotFound, "/docs/": http.StatusNotFound} {
		if status, body := worker.request(t, http.MethodGet, path, key, ""); status != want {
			t.Errorf("a worker answers %s with %d: %s", path, status, body)
		}
	}

	if status, _ := worker.operate(t, http.MethodGet, "/v1/operator/tenants", ""); status != http.StatusNotFound {
		t.Errorf("a worker answers the operator with %d", status)
	}
	if status, _ := api.operate(t, http.MethodGet, "/v1/operator/tenants", ""); status != http.StatusOK {
		t.Errorf("the API answers the operator with %d", status)
	}

	worker.stop()
	status, body := api.request(t, http.MethodPost, call, key, `{"eventData":{"id":"2","amount":2000},"entityId":"waits"}`)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if _, body := api.request(t, http.MethodGet, "/v1/gateway/runs?entityId=waits", key, ""); !strings.Contains(body, `"status":"pending"`) {
		t.Errorf("without a worker the run is %s", body)
	}
	b.start("serve", "--role", "worker")
	api.await(t, "/v1/gateway/runs?entityId=waits", key, `"status":"completed"`)
}

func TestARoleThatCannotWorkIsRefused(t *testing.T) {
	for claim, c := range map[string]struct {
		role     role
		database string
		mistaken bool
	}{
		"everything on SQLite":         {roleAll, "sqlite:a.db", false},
		"the API alone on PostgreSQL":  {roleAPI, "postgres://a/b", false},
		"a worker alone on PostgreSQL": {roleWorker, "postgres://a/b", false},
		"the API alone on SQLite":      {roleAPI, "sqlite:a.db", true},
		"a worker alone on SQLite":     {roleWorker, "sqlite:a.db", true},
		"a role that does not exist":   {"queen", "postgres://a/b", true},
	} {
		if err := c.role.check(c.database); (err != nil) != c.mistaken {
			t.Errorf("%s: %v", claim, err)
		}
	}
}

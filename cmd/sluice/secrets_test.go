package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A rotation is killed at random moments and called again, while a gateway serves, makes endpoints and delivers to one
// that was there before. In the end everything opens, and everything by the newest key.
func TestARotationThatIsKilledGoesOn(t *testing.T) {
	skipUnderRace(t)
	databases(t, func(t *testing.T, b binary) {
		b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.0/8")
		s := b.start("serve")
		p := newPublisher(t, b, s)
		r := newReceiver(t)
		p.endpoint(s, r, "/kept")
		for n := range 60 {
			p.call(s, http.MethodPost, "/webhook-endpoints", fmt.Sprintf(`{"url":"https://example.com/%d"}`, n))
		}
		kept, _ := b.json("secrets", "check")["encrypted"].(float64)
		const kills = 6
		for range kills {
			rotating := b.launch(nil, "secrets", "rotate")
			time.Sleep(rand.N(1500 * time.Millisecond)) //nolint:gosec // the moment at which it is killed
			p.call(s, http.MethodPost, "/webhook-endpoints", `{"url":"https://example.com/meanwhile"}`)
			rotating.exit(t, syscall.SIGKILL)
			if found := b.json("secrets", "check"); fmt.Sprint(found["unreadable"]) != "[]" {
				t.Fatalf("after a kill %v", found)
			}
		}
		s.stop()
		b.ok("secrets", "rotate")
		found := b.json("secrets", "check")
		if fmt.Sprint(found["unreadable"]) != "[]" || found["byOlderKey"] != 0.0 || found["inClear"] != 0.0 || found["encrypted"] != kept+kills || kept < 62 {
			t.Errorf("in the end %v", found)
		}
		again := b.start("serve")
		p.publish(again)
		r.await(t, testTimeout, "a delivery to the endpoint of before", func() bool { return r.distinct("/kept") > 0 })
	})
}

func TestASecretNeedsAKeyOnPostgreSQL(t *testing.T) {
	skipUnderRace(t)
	b := newBinary(t, postgresURL(t))
	keyed := b
	b.environ = b.environ[:len(b.environ)-1]
	s := b.start("serve")
	if !strings.Contains(s.stderr.String(), "sluice secrets generate-key") {
		t.Error("the log does not say what to do")
	}
	made := b.json("tenant", "create", "--name", "Acme", "--example")
	key := fmt.Sprint(made["secretKey"])
	if status, body := s.request(t, http.MethodPost, fmt.Sprintf("/v1/gateway/triggers/%s/webhook", made["triggerId"]), key, `{"eventData":{"id":"1","amount":2000}}`); status != http.StatusOK {
		t.Errorf("a run without secrets: %d %s", status, body)
	}
	const endpoint = `{"url":"https://example.com"}`
	if status, body := s.request(t, http.MethodPost, "/v1/gateway/webhook-endpoints", key, endpoint); status != http.StatusServiceUnavailable || !strings.Contains(body, "encryption_key_missing") || !strings.Contains(body, "generate-key") {
		t.Errorf("an endpoint without a key: %d %s", status, body)
	}
	s.stop()
	s = keyed.start("serve")
	if status, body := s.request(t, http.MethodPost, "/v1/gateway/webhook-endpoints", key, endpoint); status != http.StatusCreated {
		t.Errorf("an endpoint with a key: %d %s", status, body)
	}
	s.stop()
	if code, _, stderr := b.run("serve"); code != exitFailed || !strings.Contains(stderr, "SLUICE_ENCRYPTION_KEY") {
		t.Errorf("a start without the key ends with %d: %s", code, stderr)
	}
	wrong := b
	wrong.environ = append(wrong.environ[:len(wrong.environ):len(wrong.environ)], "SLUICE_ENCRYPTION_KEY="+strings.TrimSpace(b.ok("secrets", "generate-key")))
	s = wrong.start("serve")
	if _, ok := s.stderr.await(`(encrypted with another key)`); !ok {
		t.Error("the log does not say that the key is wrong")
	}
	if status, body := s.request(t, http.MethodGet, "/v1/gateway/webhook-endpoints", key, ""); status != http.StatusOK || !strings.Contains(body, "https://example.com") {
		t.Errorf("the list with a wrong key: %d %s", status, body)
	}
	if status, body := s.request(t, http.MethodPost, "/v1/gateway/webhook-endpoints", key, endpoint); status != http.StatusServiceUnavailable || !strings.Contains(body, "encryption_key_wrong") {
		t.Errorf("an endpoint with a wrong key: %d %s", status, body)
	}
	s.stop()
	if code, stdout, _ := wrong.run("secrets", "check"); code != exitFailed || !strings.Contains(stdout, "webhook_endpoints") {
		t.Errorf("the check with a wrong key ends with %d: %s", code, stdout)
	}
	if code, _, stderr := keyed.run("secrets", "replace-key", "--give-up-secrets"); code != exitFailed || !strings.Contains(stderr, "nothing is lost") {
		t.Errorf("replacing a key that is there ends with %d: %s", code, stderr)
	}
	wrong.ok("secrets", "replace-key", "--give-up-secrets")
	s = wrong.start("serve")
	if status, body := s.request(t, http.MethodPost, "/v1/gateway/webhook-endpoints", key, endpoint); status != http.StatusCreated {
		t.Errorf("an endpoint after the key was replaced: %d %s", status, body)
	}
}

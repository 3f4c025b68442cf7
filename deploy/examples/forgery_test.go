package examples

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// request is one to a service, signed or not.
type request struct {
	claim, path, body string
	header            http.Header
	want              int
}

// reply is what it got.
type reply struct {
	status int
	body   string
}

// send sends it.
func (e *env) send(l request) reply {
	e.Helper()
	req, err := http.NewRequestWithContext(e.Context(), http.MethodPost, "http://"+e.address+l.path, strings.NewReader(l.body))
	if err != nil {
		e.Fatal(err)
	}
	req.Header = l.header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		e.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		e.Fatal(err)
	}
	return reply{resp.StatusCode, string(text)}
}

// signed has the headers that the gateway would send, by the secrets at a time.
func signed(body, id string, at time.Time, secrets ...string) http.Header {
	h := make(http.Header)
	var all []domain.SigningSecret
	var cnp []string
	for _, text := range secrets {
		s, err := domain.ParseSigningSecret(text)
		if err != nil {
			panic("a secret that is none") // the error must not show it
		}
		all = append(all, s)
		mac := hmac.New(sha256.New, []byte(text))
		mac.Write([]byte(body))
		cnp = append(cnp, "sha256="+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	signature := domain.Sign(all, id, at, []byte(body))
	h.Set("webhook-id", signature.ID)
	h.Set("webhook-timestamp", signature.Timestamp)
	h.Set("webhook-signature", signature.Values)
	h.Set("X-CNP-Signature", strings.Join(cnp, ","))
	return h
}

// scoring is a call to score a lead, under an idempotency key.
func scoring(secret, key, company string, employees int) request {
	body := fmt.Sprintf(`{"type":"run","payload":{"nodeType":"score_lead","runId":"run_1","entityId":"e","inputs":{"company":%q,"employees":%d},`+
		`"config":{"reviewFrom":40,"reviewTo":60}}}`, company, employees)
	l := request{path: "/nodes", body: body, header: signed(body, "msg_"+key, time.Now(), secret), want: http.StatusOK}
	l.header.Set("Idempotency-Key", key)
	return l
}

// webhook is a delivery of a message about an event.
func webhook(secret, id, event string) request {
	body := `{"id":"` + event + `","type":"run.completed","timestamp":"2026-11-21T12:00:00.000Z","data":{"runId":"run_1"}}`
	return request{path: "/webhooks", body: body, header: signed(body, id, time.Now(), secret), want: http.StatusNoContent}
}

// forgeries are requests that are not trusted, and next to each what is.
func forgeries(nodeSecret, webhookSecret string) (all []request) {
	unknown := domain.NewSigningSecret([domain.SecretEntropy]byte{1}).Reveal()
	const heartbeat = `{"type":"heartbeat","tenantId":"tenant_1","timestamp":"2026-11-21T12:00:00.000Z"}`
	for _, c := range []struct {
		path, body, secret string
		good               int
	}{
		{"/nodes", heartbeat, nodeSecret, http.StatusOK},
		{"/webhooks", webhook(webhookSecret, "msg_x", "evt_x").body, webhookSecret, http.StatusNoContent},
	} {
		now := time.Now()
		add := func(claim string, want int, body string, h http.Header) {
			all = append(all, request{claim, c.path, body, h, want})
		}
		id := func() string { return "msg_" + strconv.Itoa(len(all)) }
		add("a good one", c.good, c.body, signed(c.body, id(), now, c.secret))
		add("two signatures, the second of which is known", c.good, c.body, signed(c.body, id(), now, unknown, c.secret))
		add("from four minutes ago", c.good, c.body, signed(c.body, id(), now.Add(-4*time.Minute), c.secret))
		add("from six minutes ago", http.StatusUnauthorized, c.body, signed(c.body, id(), now.Add(-6*time.Minute), c.secret))
		add("from six minutes ahead", http.StatusUnauthorized, c.body, signed(c.body, id(), now.Add(6*time.Minute), c.secret))
		add("an unknown secret's", http.StatusUnauthorized, c.body, signed(c.body, id(), now, unknown))
		add("another body", http.StatusUnauthorized, c.body+" ", signed(c.body, id(), now, c.secret))
		add("no signature", http.StatusUnauthorized, c.body, http.Header{})
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			missing := signed(c.body, id(), now, c.secret)
			missing.Del(name)
			add("no "+name, http.StatusUnauthorized, c.body, missing)
		}
		changed := signed(c.body, id(), now, c.secret)
		changed.Set("webhook-id", "msg_other")
		add("another id", http.StatusUnauthorized, c.body, changed)
		shifted := signed(c.body, id(), now, c.secret)
		shifted.Set("webhook-timestamp", strconv.FormatInt(now.Unix()+1, 10))
		add("another time", http.StatusUnauthorized, c.body, shifted)
		if c.path == "/nodes" {
			without := signed(c.body, id(), now, c.secret)
			without.Del("X-CNP-Signature")
			add("no X-CNP-Signature", http.StatusUnauthorized, c.body, without)
		}
	}
	return all
}

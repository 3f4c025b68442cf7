package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// received is a request that a service got.
type received struct {
	header http.Header
	query  url.Values
	body   []byte
	client string // who the client's certificate names; empty for none
}

// service answers custom nodes and everything else, and keeps what it got.
type service struct {
	*httptest.Server
	got chan received
}

func newService(t *testing.T, start func(*httptest.Server)) service {
	t.Helper()
	s := service{got: make(chan received, 16)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got := received{header: r.Header, query: r.URL.Query(), body: body}
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			got.client = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		if !strings.Contains(string(body), `"heartbeat"`) {
			s.got <- got
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"success":true,"data":{}}`) // a client that is gone is noticed by the test
	}))
	start(s.Server)
	t.Cleanup(s.Close)
	return s
}

func (s service) host() string { _, host, _ := strings.Cut(s.URL, "://"); return host }

// clientCertificate is a certificate of a client, with its key, in PEM.
func clientCertificate(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	template.Subject.CommonName = name
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	of, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return text("CERTIFICATE", der), text("PRIVATE KEY", of)
}

// connect makes a connection, and returns its id.
func (p *publisher) connect(s server, kind, host string, secret map[string]any) string {
	p.Helper()
	body, err := json.Marshal(map[string]any{"name": kind, "kind": kind, "hosts": []string{host}, "secret": secret})
	if err != nil {
		p.Fatal(err)
	}
	return fmt.Sprint(p.call(s, http.MethodPost, "/connections", string(body))["id"])
}

// runOf publishes a workflow of one node and runs it to its end.
func (p *publisher) runOf(s server, node string) {
	p.Helper()
	wf := fmt.Sprint(p.call(s, http.MethodPost, "/workflows", fmt.Sprintf(`{"name":%q}`, p.Name()))["id"])
	ver := fmt.Sprint(p.call(s, http.MethodPost, "/workflow-versions", fmt.Sprintf(`{"workflowId":%q,"nodes":[%s],"edges":[]}`, wf, node))["id"])
	p.call(s, http.MethodPost, "/workflow-versions/"+ver+"/publish", "")
	run := fmt.Sprint(p.call(s, http.MethodPost, "/workflows/"+wf+"/runs", `{"eventData":{"n":1}}`)["id"])
	s.await(p.T, "/v1/gateway/runs/"+run, p.key, `"status":"completed"`)
}

func TestEveryKindOfConnectionIsBorneByACall(t *testing.T) {
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.0/8")
	s := b.start("serve")
	p := newPublisher(t, b, s)
	plain := newService(t, (*httptest.Server).Start)
	demanding := newService(t, func(s *httptest.Server) {
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
		s.StartTLS()
	})
	certificate, key := clientCertificate(t, "a customer")
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: demanding.Certificate().Raw}))
	mac := func(body []byte) []byte {
		sum := hmac.New(sha256.New, []byte("the key"))
		sum.Write(body)
		return sum.Sum(nil)
	}
	for kind, c := range map[string]struct {
		secret map[string]any
		bears  func(received) bool
		to     service
	}{
		"bearer": {map[string]any{"token": "a.token"}, func(r received) bool { return r.header.Get("Authorization") == "Bearer a.token" }, plain},
		"basic": {map[string]any{"username": "user", "password": "pässword"}, func(r received) bool {
			user, password, ok := (&http.Request{Header: r.header}).BasicAuth()
			return ok && user == "user" && password == "pässword"
		}, plain},
		"header": {map[string]any{"X-Key": "one", "X-Account": "two"}, func(r received) bool { return r.header.Get("X-Key") == "one" && r.header.Get("X-Account") == "two" }, plain},
		"query":  {map[string]any{"api_key": "a&b"}, func(r received) bool { return r.query.Get("api_key") == "a&b" && r.query.Get("q") == "1" }, plain},
		"hmac": {map[string]any{"key": "the key", "header": "X-Signed", "encoding": "base64"}, func(r received) bool {
			return r.header.Get("X-Signed") == base64.StdEncoding.EncodeToString(mac(r.body))
		}, plain},
		"mtls": {map[string]any{"certificate": certificate, "privateKey": key, "ca": authority}, func(r received) bool { return r.client == "a customer" }, demanding},
	} {
		t.Run(kind, func(t *testing.T) {
			p := &publisher{T: t, key: p.key}
			id := p.connect(s, kind, c.to.host(), c.secret)
			p.runOf(s, fmt.Sprintf(`{"id":"call","type":"httpRequest","version":"1.1.0","name":"Call","config":{"method":"POST","url":%q,"body":"{{ payload }}","connection":%q}}`, c.to.URL+"/?q=1", id))
			if got := <-c.to.got; !c.bears(got) {
				t.Errorf("the service got %v %v from %q", got.header, got.query, got.client)
			}
		})
	}
}

func TestCustomNodesAndWebhookEndpointsBearAConnection(t *testing.T) {
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.0/8")
	s := b.start("serve")
	p := newPublisher(t, b, s)
	own, elsewhere := newService(t, (*httptest.Server).Start), newService(t, (*httptest.Server).Start)
	id := p.connect(s, "header", own.host(), map[string]any{"X-Key": "one"})

	p.call(s, http.MethodPost, "/custom-nodes", fmt.Sprintf(`{"type":"acme.enrich","name":"Enrich","version":"1.0.0","endpoint":%q,"inputSchema":{},"outputSchema":{},"configSchema":{"account":{"type":"string","secret":true}}}`, own.URL))
	p.runOf(s, fmt.Sprintf(`{"id":"enrich","type":"acme.enrich","version":"1.0.0","name":"Enrich","config":{"account":%q}}`, id))
	if got := <-own.got; got.header.Get("X-Key") != "one" || strings.Contains(string(got.body), `"one"`) {
		t.Errorf("the custom node got %v %s", got.header, got.body)
	}

	endpoint := p.call(s, http.MethodPost, "/webhook-endpoints", fmt.Sprintf(`{"url":%q,"events":["workflow.published"],"connection":%q}`, own.URL+"/events", id))
	p.publish(s)
	if got := <-own.got; got.header.Get("X-Key") != "one" || got.header.Get("Webhook-Signature") == "" {
		t.Errorf("the endpoint got %v", got.header)
	}
	status, answer := s.request(t, http.MethodPost, "/v1/gateway/webhook-endpoints", p.key, fmt.Sprintf(`{"url":%q,"events":["workflow.published"],"connection":%q}`, elsewhere.URL+"/events", id))
	if status != http.StatusBadRequest || !strings.Contains(answer, `"field":"connection"`) {
		t.Errorf("an endpoint elsewhere got %d: %s", status, answer)
	}
	status, answer = s.request(t, http.MethodDelete, "/v1/gateway/connections/"+id, p.key, "")
	if status != http.StatusConflict || !strings.Contains(answer, fmt.Sprint(endpoint["id"])) {
		t.Errorf("deleting it while it is used got %d: %s", status, answer)
	}
	if len(elsewhere.got) != 0 {
		t.Errorf("another host got %v", <-elsewhere.got)
	}
}

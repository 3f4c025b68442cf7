package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
)

// usedConnections has a gateway call with what connections keep, where it comes back in every way, and take deliveries
// that are signed with it. It returns the secrets of the connections.
func usedConnections(p *publisher, s server) []string {
	p.Helper()
	const token, key = "token-of-a-connection-7Kx2", "key-of-a-hook-9Qd4"
	const clientSecret, access = "secret-of-a-client-3Hn6", "access-token-5Wb1"
	given := make(chan string, 2)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("Authorization")
		if r.URL.Path == "/token" {
			if _, secret, ok := r.BasicAuth(); !ok || secret != clientSecret {
				http.Error(w, got, http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, access) // a client that is gone is noticed below
			return
		}
		given <- got
		w.Header().Set("X-Echo", got)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{ // a client that is gone is noticed below
			"got": got, "base64": base64.StdEncoding.EncodeToString([]byte(got)), "url": url.QueryEscape(got), got: "as a name",
		})
	}))
	p.Cleanup(echo.Close)
	id := func(path, body string) string {
		p.Helper()
		return fmt.Sprint(p.call(s, http.MethodPost, path, body)["id"])
	}
	host := strings.TrimPrefix(echo.URL, "http://")
	bearer := id("/connections", fmt.Sprintf(`{"name":"Billing","kind":"bearer","hosts":[%q],"secret":{"token":%q}}`, host, token))
	client := id("/connections", fmt.Sprintf(`{"name":"Accounts","kind":"oauth2ClientCredentials","hosts":[%q],"secret":{"tokenUrl":%q,"clientId":"sluice","clientSecret":%q}}`, host, echo.URL+"/token", clientSecret))
	signing := id("/connections", fmt.Sprintf(`{"name":"GitHub","kind":"hmac","secret":{"key":%q}}`, key))

	wf := id("/workflows", `{"name":"Calls"}`)
	ver := id("/workflow-versions", fmt.Sprintf(`{"workflowId":%q,"nodes":[
		{"id":"call","type":"httpRequest","version":"1.1.0","name":"Call","config":{"method":"POST","url":%q,"body":"{{ payload }}","connection":%q}},
		{"id":"authorized","type":"httpRequest","version":"1.1.0","name":"Authorized","config":{"method":"POST","url":%q,"body":"{{ payload }}","connection":%q}},
		{"id":"copy","type":"transform","version":"1.0.0","name":"Copy","config":{"transformType":"expression","expression":"[nodes.call, nodes.authorized]"}}],
		"edges":[{"id":"e","sourceNodeId":"call","targetNodeId":"authorized"},{"id":"f","sourceNodeId":"authorized","targetNodeId":"copy"}]}`, wf, echo.URL+"/", bearer, echo.URL+"/", client))
	if text := fmt.Sprint(p.call(s, http.MethodPost, "/workflow-versions/"+ver+"/simulate", `{"eventData":{}}`)); finds([]byte(text), []string{token, clientSecret}) != "" {
		p.Errorf("a simulation shows it: %s", text)
	}
	p.call(s, http.MethodPost, "/workflow-versions/"+ver+"/publish", "")
	run := "/v1/gateway/runs/" + id("/workflows/"+wf+"/runs", `{"eventData":{"n":1}}`)
	shown := s.await(p.T, run, p.key, `"status":"completed"`)
	for _, want := range []string{token, access} {
		if got := <-given; got != "Bearer "+want {
			p.Errorf("the call bore %q", got)
		}
	}
	own := []string{token, access, clientSecret}
	if finds([]byte(shown), own) != "" || strings.Count(shown, "[redacted:"+bearer+"]") < 8 || !strings.Contains(shown, `"redacted":true`) {
		p.Errorf("the run shows %s", shown)
	}
	if _, history := s.request(p.T, http.MethodGet, run+"/stream", p.key, ""); finds([]byte(history), own) != "" || !strings.Contains(history, `"redacted":true`) {
		p.Errorf("the history shows %s", history)
	}

	listening := id("/triggers", fmt.Sprintf(`{"workflowId":%q,"workflowVersionId":%q,"name":"Pushes","type":"webhook","config":{}}`, wf, ver))
	hook := p.call(s, http.MethodPost, "/triggers/"+listening+"/hook", fmt.Sprintf(`{"scheme":{"preset":"github"},"secrets":[%q]}`, signing))
	_, address, _ := strings.Cut(fmt.Sprint(hook["url"]), "/h/")
	deliver := func(secret string) int {
		p.Helper()
		const body = `{"ref":"refs/heads/main"}`
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		req, err := http.NewRequestWithContext(p.Context(), http.MethodPost, s.url+"/h/"+address, strings.NewReader(body))
		if err != nil {
			p.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Github-Event", "push")
		req.Header.Set("X-Github-Delivery", "delivery-of-"+secret[:3])
		req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			p.Fatal(err)
		}
		_ = resp.Body.Close() // it is not read
		return resp.StatusCode
	}
	if genuine, forged := deliver(key), deliver("another-key"); genuine != http.StatusAccepted || forged != http.StatusUnauthorized {
		p.Errorf("a genuine delivery got %d, a forged one %d", genuine, forged)
	}
	s.await(p.T, "/v1/gateway/runs?status=completed", p.key, `"total":2`)
	const replaced = "key-that-replaces-it-1Zp8"
	p.call(s, http.MethodPatch, "/connections/"+signing, fmt.Sprintf(`{"secret":{"key":%q}}`, replaced))
	if before, now := deliver(key), deliver(replaced); before != http.StatusUnauthorized || now != http.StatusAccepted {
		p.Errorf("with the secret from before a delivery got %d, with its own %d", before, now)
	}
	return []string{token, key, replaced, clientSecret, access}
}

package main

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/oauth/oauthtest"
)

var onward = regexp.MustCompile(`<a href="([^"]*)"`)

// consented has a person consent to a connection of a gateway, and the token renewed by a call. It returns the secrets of
// the client, and all tokens that the authorization server has issued.
func consented(p *publisher, s server) []string {
	p.Helper()
	as := oauthtest.Start(p, s.url+"/oauth/callback")
	var mu sync.Mutex
	secrets := []string{oauthtest.WebSecret}
	as.Intercept(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		given := httptest.NewRecorder()
		serve.ServeHTTP(given, r)
		var tokens struct {
			Access  string `json:"access_token"`
			Refresh string `json:"refresh_token"`
		}
		if err := json.Unmarshal(given.Body.Bytes(), &tokens); err != nil || tokens.Access == "" || tokens.Refresh == "" {
			p.Errorf("the server issued no tokens: %s", given.Body)
		} else {
			mu.Lock()
			secrets = append(secrets, tokens.Access, tokens.Refresh)
			mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(given.Body.Bytes()) // a client that is gone is noticed below
	})
	host := strings.TrimPrefix(as.URL, "http://")
	made := p.call(s, http.MethodPost, "/connections", fmt.Sprintf(
		`{"name":"Calendar","kind":"oauth2AuthorizationCode","hosts":[%q],"secret":{"authorizationUrl":%q,"tokenUrl":%q,"clientId":%q,"clientSecret":%q,"scopes":["openid","offline_access"]}}`,
		host, as.AuthorizationURL(), as.TokenURL(), oauthtest.WebClient, oauthtest.WebSecret))
	path := fmt.Sprint("/connections/", made["id"])

	link := strings.TrimPrefix(fmt.Sprint(p.call(s, http.MethodPost, path+"/authorize", "")["url"]), s.url)
	get := func(path, cookie string) (status int, set, page string) {
		p.Helper()
		req, err := http.NewRequestWithContext(p.Context(), http.MethodGet, s.url+path, http.NoBody)
		if err != nil {
			p.Fatal(err)
		}
		req.Header.Set("Cookie", cookie)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			p.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			p.Fatal(err)
		}
		set, _, _ = strings.Cut(resp.Header.Get("Set-Cookie"), ";")
		return resp.StatusCode, set, string(body)
	}
	status, cookie, page := get(link, "")
	next := onward.FindStringSubmatch(page)
	if status != http.StatusOK || next == nil {
		p.Fatalf("the page of consent: %d %s", status, page)
	}
	as.IssueFor(2 * time.Second) // which it gives out as one
	back := as.Visit(p, html.UnescapeString(next[1]))
	if status, _, page = get("/oauth/callback?"+back.Encode(), cookie); status != http.StatusOK {
		p.Fatalf("the callback: %d %s", status, page)
	}
	as.IssueFor(time.Hour)
	for deadline := time.Now().Add(20 * time.Second); as.Refreshes() == 0; time.Sleep(100 * time.Millisecond) {
		if got := p.call(s, http.MethodPost, path+"/test", fmt.Sprintf(`{"url":%q}`, as.APIURL())); got["status"] != float64(http.StatusOK) || time.Now().After(deadline) {
			p.Fatalf("a call with what the person allowed, of which the token is never renewed: %v", got)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(secrets) != 5 {
		p.Errorf("%d tokens were issued", len(secrets)-1)
	}
	_, key, _ := strings.Cut(cookie, "=")
	for _, used := range []string{strings.TrimPrefix(link, "/oauth/consent/"), key, back.Get("state"), back.Get("code")} {
		if len(used) < 16 {
			p.Errorf("%q is no secret", used)
		}
		secrets = append(secrets, used)
	}
	if shown := fmt.Sprint(p.call(s, http.MethodGet, path, ""), p.call(s, http.MethodGet, path+"/grant", "")); finds([]byte(shown), secrets) != "" || !strings.Contains(shown, "active") {
		p.Errorf("the connection shows %s", shown)
	}
	return secrets
}

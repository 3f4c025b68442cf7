package egress_test

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
)

// borne is the secret of the connections here; what is signed with it must not show it either.
const borne = "s3cret-of-the-connection"

// bearing makes the credential of a connection.
func bearing(t *testing.T, kind connection.Kind, secret map[string]any, hosts ...string) connection.Credential {
	t.Helper()
	c, err := connection.New("conn_1", "tenant_1", connection.Draft{Name: "Billing", Kind: kind, Hosts: hosts, Secret: secret}, egress.Names{}.ASCII, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	made, ok := c.Credential()
	if !ok {
		t.Fatalf("%s bears nothing", kind)
	}
	return made
}

// witness keeps to which hosts the secret came, and answers as its paths say.
type witness struct {
	mu    sync.Mutex
	asked []string // host and path of each request; "with it" where the secret was in it
}

func (w *witness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var all strings.Builder
	_ = r.Header.Write(&all) // into memory
	body, _ := io.ReadAll(r.Body)
	line := r.Host[:strings.LastIndex(r.Host, ":")] + r.URL.Path
	if plain, _ := url.QueryUnescape(r.URL.String()); strings.Contains(all.String()+plain+string(body), borne) {
		line += " with it"
	}
	w.mu.Lock()
	w.asked = append(w.asked, line)
	w.mu.Unlock()
	if to := r.URL.Query().Get("to"); to != "" {
		to = strings.ReplaceAll(to, "SECRET", cmp.Or(r.URL.Query().Get("key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		out.Header().Set("Location", to)
		out.WriteHeader(http.StatusTemporaryRedirect)
	}
}

// take returns what was asked since the last time.
func (w *witness) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.asked = nil }()
	return strings.Join(w.asked, ", ")
}

// Every name here is the same machine, so that what is not sent is held back by the name alone.
func TestASecretReachesTheHostsOfItsConnectionOnly(t *testing.T) {
	var seen, elsewhere witness
	port := strings.TrimSuffix(strings.TrimPrefix(serve(t, "127.0.0.1:0", seen.ServeHTTP), "http://127.0.0.1:"), "/")
	second := strings.TrimSuffix(strings.TrimPrefix(serve(t, "127.0.0.1:0", elsewhere.ServeHTTP), "http://127.0.0.1:"), "/")
	g := local(t, egress.Options{Resolver: newZone(nil).resolver(t)})
	kinds := map[string]connection.Credential{
		"a token":     bearing(t, connection.Bearer, map[string]any{"token": borne}, "named.test:"+port, "*.wild.test:"+port),
		"a parameter": bearing(t, connection.Query, map[string]any{"key": borne}, "named.test:"+port, "*.wild.test:"+port),
	}
	for claim, c := range map[string]struct{ url, code, asked string }{
		"its host":                                {"http://named.test:PORT/a", "", "named.test/a with it"},
		"in other letters":                        {"http://NAMED.Test:PORT/a", "", "NAMED.Test/a with it"},
		"with a trailing dot":                     {"http://named.test.:PORT/a", "", "named.test./a with it"},
		"one label below a wildcard":              {"http://one.wild.test:PORT/a", "", "one.wild.test/a with it"},
		"two labels below it":                     {"http://two.one.wild.test:PORT/a", "host_not_allowed", ""},
		"the wildcard's own name":                 {"http://wild.test:PORT/a", "host_not_allowed", ""},
		"another host":                            {"http://other.test:PORT/a", "host_not_allowed", ""},
		"a host below it":                         {"http://sub.named.test:PORT/a", "host_not_allowed", ""},
		"a host that begins like it":              {"http://named.test.other.test:PORT/a", "host_not_allowed", ""},
		"a host that ends like it":                {"http://unnamed.test:PORT/a", "host_not_allowed", ""},
		"its address":                             {"http://127.0.0.1:PORT/a", "host_not_allowed", ""},
		"another port of it":                      {"http://named.test:SECOND/a", "host_not_allowed", ""},
		"it as a user's name":                     {"http://named.test@other.test:PORT/a", "url_refused", ""},
		"it with a user's name":                   {"http://user:pass@named.test:PORT/a", "url_refused", ""},
		"a name that looks like it":               {"http://n\u0430med.test:PORT/a", "host_not_allowed", ""},
		"that name in punycode":                   {"http://xn--nmed-63d.test:PORT/a", "host_not_allowed", ""},
		"it in wide letters, which are the same":  {"http://\uff4eamed.test:PORT/a", "", "named.test/a with it"},
		"it in the query of another":              {"http://other.test:PORT/?named.test", "host_not_allowed", ""},
		"a redirect within it":                    {"http://named.test:PORT/a?to=/b", "", "named.test/a with it, named.test/b with it"},
		"a redirect to another":                   {"http://named.test:PORT/a?to=http://other.test:PORT/b", "", "named.test/a with it, other.test/b"},
		"a redirect to another and back":          {"http://named.test:PORT/a?to=http://other.test:PORT/b%3Fto=http://named.test:PORT/c", "", "named.test/a with it, other.test/b, named.test/c"},
		"a redirect to another port":              {"http://named.test:PORT/a?to=http://named.test:SECOND/b", "", "named.test/a with it"},
		"a redirect that takes it along":          {"http://named.test:PORT/a?to=http://other.test:PORT/b%3Fx%3DSECRET", "redirect_refused", "named.test/a with it"},
		"a redirect that takes it along, in part": {"http://named.test:PORT/a?to=http://other.test:PORT/SECRET/b", "redirect_refused", "named.test/a with it"},
		"a redirect to it as a user's name":       {"http://named.test:PORT/a?to=http://named.test@other.test:PORT/b", "url_refused", "named.test/a with it"},
	} {
		for kind, credential := range kinds {
			target := strings.NewReplacer("PORT", port, "SECOND", second).Replace(c.url)
			code, err := get(t, g.Bearing(credential, egress.Follow), target)
			if asked := seen.take(); code != c.code || asked != c.asked {
				t.Errorf("%s, %s: the code is %q, and asked was %q: %v", claim, kind, code, asked, err)
			}
			var told *domain.Error
			if errors.As(err, &told) && strings.Contains(told.Message, borne) {
				t.Errorf("%s, %s: a tenant is told %s", claim, kind, told.Message)
			}
		}
	}
	if asked := elsewhere.take(); strings.Contains(asked, "with it") {
		t.Errorf("the other port was asked %q", asked)
	}
}

func TestWhatACallBears(t *testing.T) {
	got := make(chan *http.Request, 1)
	sent := make(chan string, 1)
	port := strings.TrimSuffix(strings.TrimPrefix(serve(t, "127.0.0.1:0", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r
		sent <- string(body)
	}), "http://127.0.0.1:"), "/")
	g := local(t, egress.Options{Resolver: newZone(nil).resolver(t)})
	host := "named.test:" + port
	for claim, c := range map[string]struct {
		credential connection.Credential
		header     string
		want       string
		query      string
	}{
		"a token":                           {bearing(t, connection.Bearer, map[string]any{"token": borne}, host), "Authorization", "Bearer " + borne, "a=1&key=mine"},
		"a name and a password":             {bearing(t, connection.Basic, map[string]any{"username": "u", "password": "p"}, host), "Authorization", "Basic dTpw", "a=1&key=mine"},
		"a header in place of the client's": {bearing(t, connection.Header, map[string]any{"X-Mine": borne}, host), "X-Mine", borne, "a=1&key=mine"},
		"a parameter in place of the URL's": {bearing(t, connection.Query, map[string]any{"key": borne + " &"}, host), "X-Mine", "client's", "a=1&key=" + borne + "+%26"},
		// printf '{"n":1}' | openssl dgst -sha256 -hmac s3cret-of-the-connection
		"a signature of the body": {bearing(t, connection.HMAC, map[string]any{"key": borne, "header": "X-Signature"}, host), "X-Signature", "eaebb1915d3747646d041cfc24cb6d3c7413ee1f308b9efc776315dfe499f9ed", "a=1&key=mine"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+"/?a=1&key=mine", strings.NewReader(`{"n":1}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Mine", "client's")
		resp, err := g.Bearing(c.credential, egress.Stay).Do(req)
		if err != nil {
			t.Fatalf("%s: %v", claim, err)
		}
		_ = resp.Body.Close() // nothing is in it
		r, body := <-got, <-sent
		if r.Header.Get(c.header) != c.want || r.URL.RawQuery != c.query || body != `{"n":1}` {
			t.Errorf("%s: %s is %q, the query %q, the body %q", claim, c.header, r.Header.Get(c.header), r.URL.RawQuery, body)
		}
		if strings.Contains(req.URL.String(), borne) || strings.Contains(req.Header.Get("Authorization"), borne) || strings.Contains(resp.Request.URL.String(), borne) {
			t.Errorf("%s: who made the request finds it there", claim)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpserver"
)

// testTimeout is how long these tests wait for what must happen at some time. No claim
// depends on it being shorter.
const testTimeout = time.Minute

// abuseEnv is a gateway in a process of its own that clients misuse, and a tenant
// that goes on using it.
type abuseEnv struct {
	*testing.T
	*process
	key     string
	version string // of the example workflow
}

func newAbuseEnv(t *testing.T, environ ...string) abuseEnv {
	t.Helper()
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, environ...)
	p := b.spawn("serve")
	made := b.json("tenant", "create", "--name", "Acme", "--example")
	b.ok("tenant", "update", fmt.Sprint(made["tenantId"]), "--secret-per-minute", "1000000", "--secret-concurrent", "100000")
	return abuseEnv{t, p, fmt.Sprint(made["secretKey"]), fmt.Sprint(made["workflowVersionId"])}
}

// dial opens a connection that the test's end resets, so that thousands of them leave
// no ports behind that wait.
func (g abuseEnv) dial() net.Conn {
	g.Helper()
	c, err := net.Dial("tcp", g.address())
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = c.Close() })
	if err := errors.Join(c.SetDeadline(time.Now().Add(testTimeout)), c.(*net.TCPConn).SetLinger(0)); err != nil {
		g.Fatal(err)
	}
	return c
}

// write sends a text, or says why it could not.
func write(c net.Conn, text string) error {
	_, err := io.WriteString(c, text)
	return err
}

// othersAreServed makes requests as everybody does, each on a connection of its own:
// each is answered, and the slowest within what a person would bear.
func (g abuseEnv) othersAreServed() {
	g.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: testTimeout}
	var slowest time.Duration
	for i := range 20 {
		body := fmt.Sprintf(`{"workflowVersionId":%q,"name":"trigger %d","type":"webhook","config":{}}`, g.version, i)
		r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.url+"/v1/gateway/triggers", strings.NewReader(body))
		if err != nil {
			g.Fatal(err)
		}
		r.Header.Set("X-API-Key", g.key)
		r.Header.Set("Content-Type", "application/json")
		began := time.Now()
		answer, err := client.Do(r)
		if err != nil {
			g.Fatalf("others are not served: %v", err)
		}
		text, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusCreated {
			g.Fatalf("others get %d: %s, %v", answer.StatusCode, text, err)
		}
		slowest = max(slowest, time.Since(began))
	}
	g.Logf("others: the slowest of 20 requests took %s", slowest.Round(time.Millisecond))
	if slowest > 20*time.Second {
		g.Errorf("the slowest request of somebody else took %s", slowest)
	}
}

// cutOff waits until the gateway has closed a connection and returns what it sent.
func cutOff(t *testing.T, c net.Conn) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		t.Fatalf("the connection is still open; the gateway sent %.200q", text)
	}
	return string(text)
}

func TestHeadersThatNeverEndAreCutOff(t *testing.T) {
	t.Parallel()
	g := newAbuseEnv(t, "SLUICE_HEADER_TIMEOUT=2s")
	slow := make([]net.Conn, 500)
	for i := range slow {
		slow[i] = g.dial()
		if err := write(slow[i], "GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
	}
	g.othersAreServed()
	dripping := new(sync.WaitGroup)
	for _, c := range slow[:50] { // these keep sending, a byte at a time
		dripping.Go(func() {
			for write(c, "x") == nil {
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	dripping.Wait()
	for _, c := range slow[50:] {
		if got := cutOff(t, c); got != "" { // as Go's server does where there is no whole request yet
			t.Errorf("the gateway answered half a request with %q", got)
		}
	}
}

func TestABodyThatNeverEndsIsCutOff(t *testing.T) {
	t.Parallel()
	g := newAbuseEnv(t, "SLUICE_HEADER_TIMEOUT=1s", "SLUICE_BODY_TIMEOUT=2s")
	slow := make([]net.Conn, 200) // of which as many as may are at work at once, and the others refused
	for i := range slow {
		slow[i] = g.dial()
		if err := write(slow[i], "POST /v1/gateway/triggers HTTP/1.1\r\nHost: a\r\nX-API-Key: "+g.key+
			"\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{\"name\":"); err != nil {
			t.Fatal(err)
		}
	}
	g.othersAreServed()
	answered := make(map[string]int)
	for _, c := range slow {
		status, _, _ := strings.Cut(cutOff(t, c), "\r\n")
		answered[status]++
	}
	late, refused := answered["HTTP/1.1 408 Request Timeout"], answered["HTTP/1.1 429 Too Many Requests"]
	refused += answered["HTTP/1.1 503 Service Unavailable"] // the bodies before have the tenant's memory
	if late == 0 || late+refused != len(slow) {
		t.Errorf("half a body got %v", answered)
	}
}

func TestWhoIsRefusedIsToldSoonWhateverOfTheBodyIsMissing(t *testing.T) {
	t.Parallel()
	g := newAbuseEnv(t)
	for claim, c := range map[string]struct{ head, status string }{
		"without a key":            {"POST /v1/gateway/triggers HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{", "401"},
		"a path that there is not": {"POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{", "404"},
		"in chunks":                {"POST /v1/gateway/triggers HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "401"},
	} {
		conn := g.dial()
		began := time.Now()
		if err := write(conn, c.head); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, c.status) {
			t.Errorf("%s: %q, %v", claim, line, err)
		}
		if took := time.Since(began); took > 30*time.Second { // SLUICE_BODY_TIMEOUT is 60 s
			t.Errorf("%s: it took %s", claim, took)
		}
	}
}

func TestOptionsOfTheServerAreAnsweredAsEverythingElse(t *testing.T) {
	t.Parallel()
	g := newAbuseEnv(t)
	conn := g.dial()
	if err := write(conn, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusNotFound || answer.Header.Get("X-Request-Id") == "" || !bytes.Contains(text, []byte("route_not_found")) {
		t.Errorf("%d %v %s, %v", answer.StatusCode, answer.Header, text, err)
	}
}

func TestAConnectionIsKeptBehindARefusalWhoseBodyHasArrived(t *testing.T) {
	t.Parallel()
	g := newAbuseEnv(t)
	conn := g.dial()
	answers := bufio.NewReader(conn)
	for i := range 5 {
		head, body := "POST /v1/gateway/triggers HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n", `{"a":"b" }`
		if i%2 == 1 { // the body comes a little later
			if err := write(conn, head); err != nil {
				t.Fatal(err)
			}
			head = ""
		}
		if err := write(conn, head+body); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil || answer.StatusCode != http.StatusUnauthorized {
			t.Fatalf("answer %d: %v, %v", i, answer, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); errors.Join(err, answer.Body.Close()) != nil {
			t.Fatal(err)
		}
	}
}

func TestAConnectionIsClosedBehindABodyInChunks(t *testing.T) {
	t.Parallel()
	g := newAbuseEnv(t)
	body := fmt.Sprintf(`{"workflowVersionId":%q,"name":"chunked","type":"webhook","config":{}}`, g.version)
	for _, length := range []string{"", "Content-Length: 5\r\n"} {
		conn := g.dial()
		text := "POST /v1/gateway/triggers HTTP/1.1\r\nHost: a\r\nX-API-Key: " + g.key + "\r\n" + length + "Transfer-Encoding: chunked\r\n\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
		if err := write(conn, text+"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		got := cutOff(t, conn)
		if !strings.HasPrefix(got, "HTTP/1.1 201") || !strings.Contains(got, "Connection: close") || strings.Count(got, "HTTP/1.1") != 1 {
			t.Errorf("with %q it sent %q", length, got)
		}
	}
}

func TestAClientThatDoesNotReadItsAnswersIsCutOff(t *testing.T) {
	t.Parallel()
	g := newAbuseEnv(t, "SLUICE_ANSWER_TIMEOUT=2s")
	var sending sync.WaitGroup
	var cut atomic.Int32
	const clients = 50
	for range clients {
		c := g.dial()
		sending.Go(func() {
			// Sending stops when every buffer on the way is full, and fails when the gateway
			// has closed the connection.
			for {
				err := write(c, strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n", 100))
				var network net.Error
				if errors.As(err, &network) && network.Timeout() {
					return
				}
				if err != nil {
					cut.Add(1)
					return
				}
			}
		})
	}
	g.othersAreServed()
	sending.Wait()
	if cut.Load() != clients {
		t.Errorf("%d of %d clients were cut off", cut.Load(), clients)
	}
	if _, peak := g.memory(t); peak > 512<<20 {
		t.Errorf("the gateway used %d MB", peak>>20)
	}
}

func TestAConnectionThatWaitsTooLongIsClosed(t *testing.T) {
	t.Parallel()
	g := newAbuseEnv(t, "SLUICE_IDLE_TIMEOUT=1s")
	c := g.dial()
	if err := write(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got := cutOff(t, c); !strings.HasPrefix(got, "HTTP/1.1 200") || strings.Contains(got, "Connection: close") {
		t.Errorf("the request before got %q", got)
	}
}

func TestHeadersThatAreTooLargeAreRefused(t *testing.T) {
	t.Parallel()
	g := newAbuseEnv(t)
	key := "\r\nX-API-Key: " + g.key
	for claim, request := range map[string]string{
		"one header of 64 KiB": "GET /healthz HTTP/1.1\r\nHost: a" + key + "\r\nX-Large: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
		"one of 8 MiB":         "GET /healthz HTTP/1.1\r\nHost: a" + key + "\r\nX-Large: " + strings.Repeat("x", 8<<20) + "\r\n\r\n",
		"a hundred thousand":   "GET /healthz HTTP/1.1\r\nHost: a" + key + strings.Repeat("\r\nX-Many: 1", 100_000) + "\r\n\r\n",
		"an address of 64 KiB": "GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n",
		"a key of 64 KiB":      "GET /v1/gateway/workflows HTTP/1.1\r\nHost: a\r\nX-API-Key: sk_" + strings.Repeat("x", 64<<10) + "\r\n\r\n",
	} {
		t.Run(claim, func(t *testing.T) {
			c := g.dial()
			sent := make(chan struct{})
			go func() {
				_ = write(c, request) // it fails where the gateway does not wait for the rest
				close(sent)
			}()
			status, err := bufio.NewReader(c).ReadString('\n')
			<-sent
			if err != nil || !strings.HasPrefix(status, "HTTP/1.1 431 ") {
				t.Errorf("got %q, %v", status, err)
			}
		})
	}
	g.othersAreServed()
	if _, peak := g.memory(t); peak > 512<<20 {
		t.Errorf("the gateway used %d MB", peak>>20)
	}
}

// hostile are bodies that cost the sender little. Each is at most 1 MiB, the limit.
func hostile() map[string]struct {
	body   string
	status int
} {
	const limit = 1 << 20
	fill := func(before, part, after string) string {
		return before + strings.Repeat(part, (limit-len(before)-len(after))/len(part)) + after
	}
	type body = struct {
		body   string
		status int
	}
	distinct := new(strings.Builder)
	for i := 0; distinct.Len() < limit-100; i++ {
		_, _ = fmt.Fprintf(distinct, `,"m%x":1`, i) // cannot fail
	}
	return map[string]body{
		"nested half a million times":        {fill("", "[", ""), 400},
		"nested, with an end":                {strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), 400},
		"one member, over and over":          {fill(`{"a":1`, `,"a":1`, "}"), 400},
		"one escaped member, over and over":  {fill(`{"a":1`, `,"\u0061":1`, "}"), 400},
		"a hundred thousand members":         {`{"a":1` + distinct.String() + "}", 400},
		"the same deep inside":               {`{"config":{"x":{"a":1` + distinct.String() + "}}}", 400},
		"a number of a million digits":       {fill(`{"name":`, "9", "}"), 400},
		"a fraction of a million digits":     {fill(`{"config":{"timeoutMs":0.`, "9", "}}"), 400},
		"an exponent of a million digits":    {fill(`{"config":{"timeoutMs":1e`, "9", "}}"), 400},
		"half a million numbers":             {fill(`{"config":{"a":[0`, ",0", "]}}"), 400},
		"a third of a million empty objects": {fill(`{"config":{"a":[{}`, ",{}", "]}}"), 400},
		"a string of a mebibyte":             {fill(`{"name":"`, "x", `"}`), 400},
		"a string of escapes":                {fill(`{"name":"`, `\u00e9`, `"}`), 400},
		"a string that is no UTF-8":          {fill(`{"name":"`, "\xff", `"}`), 400},
		"a hundred thousand wrong types":     {fill(`{"workflowId":1,"nodes":[1`, ",1", `],"edges":[]}`), 400},
		"a megabyte of white space":          {fill("", " ", "{}"), 400},
		"more than the limit":                {fill("", " ", "{}") + " ", 413},
	}
}

func TestHostileJSONIsRefusedInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes several times the memory that is measured")
	}
	t.Parallel()
	g := newAbuseEnv(t)
	client := &http.Client{Timeout: testTimeout}
	var sent atomic.Int32
	post := func(path, body string) (int, []byte, error) {
		r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.url+path, strings.NewReader(body))
		if err != nil {
			return 0, nil, err
		}
		r.Header.Set("X-API-Key", g.key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Idempotency-Key", fmt.Sprint("once-", sent.Add(1))) // the body is brought into canonical form
		answer, err := client.Do(r)
		if err != nil {
			return 0, nil, err
		}
		text, err := io.ReadAll(answer.Body)
		return answer.StatusCode, text, errors.Join(err, answer.Body.Close())
	}
	const together = 8
	for claim, h := range hostile() {
		t.Run(claim, func(t *testing.T) {
			before, _ := g.memory(t)
			for _, path := range []string{"/v1/gateway/triggers", "/v1/gateway/workflow-versions"} {
				began := time.Now()
				var all sync.WaitGroup
				for range together {
					all.Go(func() {
						status, text, err := post(path, h.body)
						short := status == http.StatusServiceUnavailable && bytes.Contains(text, []byte("memory_busy"))
						if err != nil || status != h.status && !short {
							t.Errorf("%s got %d, %.200s, %v", path, status, text, err)
						}
						if len(text) > 1<<20 {
							t.Errorf("%s got an answer of %d bytes", path, len(text))
						}
					})
				}
				all.Wait()
				t.Logf("%d at %s: %s", together, path, time.Since(began).Round(time.Millisecond))
			}
			now, peak := g.memory(t)
			t.Logf("memory: %d MB before, %d MB after, %d MB at the peak", before>>20, now>>20, peak>>20)
		})
	}
	g.othersAreServed()
	if _, peak := g.memory(t); peak > 1<<30 {
		t.Errorf("the gateway used %d MB for %d requests of 1 MiB at a time", peak>>20, together)
	}
}

func TestTenThousandIdleConnectionsCostLittleAndHinderNobody(t *testing.T) {
	g := newAbuseEnv(t)
	const wanted, spare = 10_000, 300
	n, err := httpserver.ConnectionLimit(zerolog.Nop(), wanted, spare)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		n = min(n, wanted/10) // the race detector makes them expensive
	} else if n < wanted {
		t.Logf("########## ONLY %d CONNECTIONS, NOT %d: the system limits the open files of a process", n, wanted)
	}
	g.othersAreServed()
	before, _ := g.memory(t)
	request := []byte("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
	idle := make([]net.Conn, n)
	for i := range idle {
		idle[i] = g.dial()
	}
	// Each has been used once, as connections that are kept alive have.
	for _, c := range idle {
		if _, err := c.Write(request); err != nil {
			t.Fatal(err)
		}
	}
	answer := make([]byte, 4096)
	for i, c := range idle {
		if got, err := c.Read(answer); err != nil || !bytes.HasPrefix(answer[:got], []byte("HTTP/1.1 200")) {
			t.Fatalf("connection %d: %q, %v", i, answer[:got], err)
		}
	}
	now, _ := g.memory(t)
	each := (now - before) / int64(n)
	t.Logf("%d idle connections: %d MB before, %d MB now, %.1f KiB each", n, before>>20, now>>20, float64(each)/1024)
	if each > 128<<10 {
		t.Errorf("an idle connection costs %d bytes", each)
	}
	g.othersAreServed()
	for _, i := range []int{0, n / 2, n - 1} { // they are still there
		if _, err := idle[i].Write(request); err != nil {
			t.Error(err)
		}
		if got, err := idle[i].Read(answer); err != nil || got == 0 {
			t.Errorf("connection %d is gone: %v", i, err)
		}
	}
}

package main

import (
	"bytes"
	"context"
	_ "embed" // the script
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
	"github.com/sluicehq/sluice/deploy/testserver"
)

// loadRequest is what a load generator sends over and over. With several API keys it
// takes turns, so that no tenant's limit is reached.
type loadRequest struct {
	Method            string
	Path              string // below harness.APIPath
	Body              string
	APIKeys           []string
	IdempotencyPrefix string // begins every request's own idempotency key; empty for none
	KeyHeader         string // the header of that; empty for that of the API
	Headers           map[string]string
}

// send sends the request once and returns the body of a success.
func (q loadRequest) send(ctx context.Context, baseURL string) ([]byte, error) {
	if fullPath(q.Path) == q.Path {
		_, err := q.deliver(ctx, baseURL, "again")
		return nil, err
	}
	c := harness.Client{URL: baseURL, Key: q.APIKeys[0], HTTP: httpClient}
	return c.Call(ctx, harness.Request{Method: q.Method, Path: q.Path, Body: q.Body})
}

//go:embed request.lua.tmpl
var scriptText string

var script = template.Must(template.New("request.lua").Funcs(template.FuncMap{"lua": luaString, "fullPath": fullPath}).Parse(scriptText))

// fullPath is that of a request: hooks stand next to the API.
func fullPath(path string) string {
	if strings.HasPrefix(path, "/h/") {
		return path
	}
	return harness.APIPath + path
}

// luaString quotes text for Lua. Bytes outside plain ASCII go as decimal escapes.
func luaString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			_, _ = fmt.Fprintf(&b, `\%03d`, c) // cannot fail
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// wrkThreads is how many threads make load: as many as the machine in the goals
// has cores, but no more than connections.
const wrkThreads = 2

// runWrk makes load with wrk. An error counts what was not answered with success.
func (e *env) runWrk(ctx context.Context, baseURL string, q loadRequest, connections int, period time.Duration) (load, error) {
	var text bytes.Buffer
	if err := script.Execute(&text, q); err != nil {
		return load{}, err
	}
	file, err := e.writeFile("request.lua", text.Bytes())
	if err != nil {
		return load{}, err
	}
	printed, err := harness.Output(exec.CommandContext(ctx, e.wrk, "-t"+strconv.Itoa(min(wrkThreads, connections)),
		"-c"+strconv.Itoa(connections), "-d"+wholeSeconds(period)+"s", "--latency", "-s", file, baseURL))
	if err != nil {
		return load{}, err
	}
	return readWrk(string(printed))
}

// wholeSeconds is how both load generators want a time.
func wholeSeconds(period time.Duration) string {
	return strconv.Itoa(int(period.Round(time.Second).Seconds()))
}

// wrkSummary is the line that the script prints at the end.
type wrkSummary struct {
	Requests, Microseconds                 int
	P50, P99                               int // microseconds
	Refused, Connect, Read, Write, Timeout int
}

var errRefused = errors.New("not every request was answered with success")

func readWrk(printed string) (load, error) {
	at := strings.LastIndex(printed, "{")
	if at < 0 {
		return load{}, fmt.Errorf("wrk printed no summary:\n%s", printed)
	}
	var s wrkSummary
	if err := json.Unmarshal([]byte(printed[at:]), &s); err != nil {
		return load{}, fmt.Errorf("wrk's summary: %w:\n%s", err, printed)
	}
	if s.Refused+s.Connect+s.Read+s.Write+s.Timeout > 0 {
		return load{}, fmt.Errorf("%w: of %d requests %d had another status; sockets failed to connect %d, to read %d, to write %d times; %d requests took longer than 2 s",
			errRefused, s.Requests, s.Refused, s.Connect, s.Read, s.Write, s.Timeout)
	}
	if s.Requests == 0 || s.Microseconds == 0 {
		return load{}, fmt.Errorf("%w: not one answer came", errRefused)
	}
	return load{
		perSecond: float64(s.Requests) / (float64(s.Microseconds) / 1e6), requests: s.Requests,
		p50: time.Duration(s.P50) * time.Microsecond, p99: time.Duration(s.P99) * time.Microsecond,
	}, nil
}

// loadGateway makes load on the gateway. Where that fails it says what the gateway
// logged of the failures, and what it answers now.
func (e *env) loadGateway(ctx context.Context, q loadRequest, connections int, period time.Duration) (load, error) {
	from := fileSize(e.gateway.Log)
	found, err := e.runWrk(ctx, e.gateway.URL, q, connections, period)
	if !errors.Is(err, errRefused) {
		return found, err
	}
	now := "the same request succeeds now"
	if _, again := q.send(ctx, e.gateway.URL); again != nil {
		now = "the same request now: " + again.Error()
	}
	return found, fmt.Errorf("%w\n%s%s", err, refusals(e.gateway.Log, from), now)
}

// findWrk returns the path of wrk. Root on Debian gets it installed.
func findWrk(ctx context.Context) (string, error) {
	if found, err := exec.LookPath("wrk"); err == nil {
		return found, nil
	}
	err := testserver.InstallDebian(ctx, "wrk", func() bool {
		_, err := exec.LookPath("wrk")
		return err == nil
	})
	if err != nil {
		return "", fmt.Errorf("the load generator wrk is not installed; install it (Debian: apt-get install wrk, macOS: brew install wrk): %w", err)
	}
	return exec.LookPath("wrk")
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// gateway is the process under test. It logs to a file, as it would in production;
// SLUICE_ settings of the environment reach it, so that they can be compared.
type gateway struct {
	binary  string
	environ []string
	log     string // file
	baseURL string
	cmd     *exec.Cmd
	ended   chan error
}

// newGatewayProcess describes a gateway that is still to be started.
func newGatewayProcess(binary, databaseURL, log string, environ ...string) *gateway {
	g := &gateway{binary: binary, log: log, ended: make(chan error, 1)}
	g.environ = append(os.Environ(), "SLUICE_DATABASE_URL="+databaseURL, "SLUICE_LISTEN=127.0.0.1:0", "SLUICE_LOG_FORMAT=json")
	g.environ = append(g.environ, environ...)
	return g
}

// startGateway starts a gateway and waits until it is ready.
func startGateway(ctx context.Context, binary, databaseURL, log string, environ ...string) (*gateway, error) {
	g := newGatewayProcess(binary, databaseURL, log, environ...)
	if err := g.start(); err != nil {
		return nil, err
	}
	if err := g.awaitReady(ctx); err != nil {
		g.stop()
		text, _ := os.ReadFile(log) // the error stands without it
		return nil, fmt.Errorf("start the gateway: %w\n%s", err, text)
	}
	return g, nil
}

func (g *gateway) start() error {
	out, err := os.Create(g.log)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()      // the process has its own handle
	g.cmd = exec.Command(g.binary, "serve") //nolint:noctx // stopped by stop, not by a signal to the bench
	g.cmd.Env, g.cmd.Stdout, g.cmd.Stderr = g.environ, out, out
	bound(g.cmd)
	if err := g.cmd.Start(); err != nil {
		return err
	}
	go func() { g.ended <- g.cmd.Wait() }()
	return nil
}

// awaitReady reads the address from the log.
func (g *gateway) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		text, err := os.ReadFile(g.log)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			var entry struct{ Message, BaseURL string }
			if json.Unmarshal(line, &entry) == nil && entry.Message == "the gateway is ready" {
				g.baseURL = entry.BaseURL
				return nil
			}
		}
		select {
		case ended := <-g.ended:
			g.ended <- ended
			return errors.Join(errors.New("the process ended"), ended)
		case <-ctx.Done():
			return errors.New("it did not log that it is ready")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (g *gateway) stop() { endProcess(g.cmd, g.ended, syscall.SIGTERM) }

// tenantKeys is what the bench needs of a tenant.
type tenantKeys struct {
	TenantID          string `json:"tenantId"`
	SecretKey         string `json:"secretKey"`
	WorkflowVersionID string `json:"workflowVersionId"`
}

// Limits that the load must not run into: the most an operator can set a minute,
// and more places than there are connections.
const (
	perMinute  = 1_000_000
	concurrent = 100_000
)

// newTenant makes a tenant with an example workflow and the widest limits.
func (g *gateway) newTenant(ctx context.Context, name string) (tenantKeys, error) {
	var ten tenantKeys
	text, err := g.command(ctx, "tenant", "create", "--name", name, "--example", "--json")
	if err != nil {
		return ten, err
	}
	if err := json.Unmarshal([]byte(text), &ten); err != nil {
		return ten, fmt.Errorf("tenant create --json: %w", err)
	}
	_, err = g.command(ctx, "tenant", "update", ten.TenantID,
		"--secret-per-minute", strconv.Itoa(perMinute), "--secret-concurrent", strconv.Itoa(concurrent))
	return ten, err
}

func (g *gateway) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, g.binary, args...)
	cmd.Env = g.environ
	text, err := output(cmd)
	if err != nil {
		return "", fmt.Errorf("sluice %s: %w", strings.Join(args, " "), err)
	}
	return text, nil
}

// client keeps enough connections for the busiest load that the bench makes itself.
var client = &http.Client{
	Transport: &http.Transport{MaxIdleConnsPerHost: busyRate, MaxConnsPerHost: busyRate},
	Timeout:   startTimeout,
}

// ask sends one request and returns the answer's body, or an error that shows the
// whole answer when it has another status.
func ask(ctx context.Context, baseURL string, q question, status int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, q.Method, baseURL+q.Path, strings.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-API-Key", q.APIKeys[0])
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != status {
		return nil, fmt.Errorf("%s %s answered %s, not %d:\n%s", q.Method, q.Path, resp.Status, status, body)
	}
	return body, nil
}

// logSize says where the log ends now, for refusals.
func (g *gateway) logSize() int64 {
	info, err := os.Stat(g.log)
	if err != nil {
		return 0
	}
	return info.Size()
}

// refusals says what the log holds, from an offset on, about requests that were
// not answered with success: how many of each status, and one line of each.
func (g *gateway) refusals(from int64) string {
	file, err := os.Open(g.log)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }() // only read
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err.Error()
	}
	counts, samples, order := make(map[int]int), make(map[int]string), []int(nil)
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct{ Status int }
		if json.Unmarshal(lines.Bytes(), &entry) != nil || entry.Status < http.StatusMultipleChoices {
			continue
		}
		if counts[entry.Status]++; counts[entry.Status] == 1 {
			order, samples[entry.Status] = append(order, entry.Status), lines.Text()
		}
	}
	if len(order) == 0 {
		return "the gateway's log shows no refusal"
	}
	var b strings.Builder
	for _, status := range order {
		_, _ = fmt.Fprintf(&b, "%d × %d, first:\n  %s\n", counts[status], status, samples[status]) // cannot fail
	}
	return b.String()
}

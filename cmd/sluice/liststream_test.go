package main

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A page that is connected to one gateway hears what is changed through another, and what workers
// of both do.
func TestAStreamOfListsTellsOfAllGateways(t *testing.T) {
	n := twoGateways(t)
	workflow := fmt.Sprint(n.send(n.a, http.MethodPost, "/v1/gateway/workflows", `{"name":"Orders"}`)["id"])
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.a.url+"/v1/gateway/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", n.secret)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it is read to its end
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(answer.Body); scan.Scan(); {
			lines <- scan.Text()
		}
	}()
	hears := func(what string, fits func(string) bool) {
		t.Helper()
		end := time.After(30 * time.Second)
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatalf("the stream ended before %s", what)
				}
				if fits(line) {
					return
				}
			case <-end:
				t.Fatalf("it does not hear of %s", what)
			}
		}
	}
	reset := func(line string) bool { return line == "event: reset" }
	hears("the beginning", reset)
	hears("the other gateway, which begins to report", reset)
	data := func(want string) func(string) bool {
		return func(line string) bool { return strings.TrimPrefix(line, "data: ") == want }
	}
	ver := fmt.Sprint(n.send(n.other, http.MethodPost, "/v1/gateway/workflow-versions",
		fmt.Sprintf(`{"workflowId":%q,"nodes":[{"id":"ask","type":"input","version":"1.0.0","name":"Ask","config":{"inputType":"boolean"}}]}`, workflow))["id"])
	hears("a version", data(fmt.Sprintf(`{"operation":"created","id":%q,"workflowId":%q}`, ver, workflow)))
	run := fmt.Sprint(n.send(n.other, http.MethodPost, "/v1/gateway/workflow-versions/"+ver+"/runs", `{}`)["id"])
	hears("a node that waits", data(fmt.Sprintf(`{"operation":"created","runId":%q,"nodeId":"ask","workflowId":%q}`, run, workflow)))
	n.send(n.other, http.MethodPost, "/v1/gateway/runs/"+run+"/cancel", `{}`)
	hears("its end", data(fmt.Sprintf(`{"operation":"deleted","runId":%q,"nodeId":"ask","workflowId":%q}`, run, workflow)))
	if err := n.a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	hears("the end of its gateway", func(line string) bool { return line == "event: closed" })
	if code := n.a.await(t); code != 0 {
		t.Errorf("the gateway ended with %d: %s", code, n.a.stderr)
	}
}

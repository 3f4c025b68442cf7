package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readmeScript is a walk through the README, for a port and a folder of the test.
func readmeScript(t *testing.T, heading, port string, pauses map[string]string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "## "+heading+"\n")
	_, rest, begun := strings.Cut(rest, "```sh\nmake build\n")
	script, _, ended := strings.Cut(rest, "```\n")
	if !found || !begun || !ended {
		t.Fatal("README.md has no such walk")
	}
	address := freeAddress(t)
	pauses["sleep 2\n"] = "until curl -sf http://" + address + "/readyz >/dev/null; do sleep 0.1; done\n"
	for pause, until := range pauses { // a loaded machine takes longer
		if strings.Count(script, pause) != 1 {
			t.Fatalf("the walk has another number of %q", pause)
		}
		script = strings.Replace(script, pause, until, 1)
	}
	return strings.ReplaceAll(script, "127.0.0.1:"+port, address)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

func TestTheWalkThroughTheREADMEHonoursTheAnswer(t *testing.T) {
	for answer, informed := range map[string]bool{"true": true, "false": false} {
		t.Run(answer, func(t *testing.T) {
			script := readmeScript(t, "From an empty database to a finished run", "8090", map[string]string{
				"sleep 4\n": "until api GET '/runs?entityId=order-1042&status=completed' | grep -q '\"total\":1'; do sleep 0.1; done\n",
			})
			out := walk(t, strings.Replace(script, `"input": true}`, fmt.Sprintf(`"input": %s}`, answer), 1))
			last := regexp.MustCompile(`(?m)^\{"id":"run_.*"nodes":.*$`).FindAllString(out, -1)
			if len(last) == 0 || !strings.Contains(last[len(last)-1], `"status":"completed"`) {
				t.Fatalf("the run did not complete: %s", out)
			}
			run := last[len(last)-1]
			if !strings.Contains(run, `"worth":{"amount":1250}`) {
				t.Errorf("the code did not add up; the run is %s", run)
			}
			if got := strings.Contains(run, `"each":{"count":2,"failed":[],"results":[{"body":{"status":"ok"}`); got != informed {
				t.Errorf("the shop was called: %v; the run is %s", got, run)
			}
		})
	}
}

// walk runs a script with the gateway that the test is, and returns what it says.
func walk(t *testing.T, script string, programs ...string) string {
	t.Helper()
	for _, program := range append(programs, "bash", "curl", "sed") {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("########## NOT TESTED: there is no %s", program)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(folder, "bin", "sluice")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "trap 'kill $(jobs -p)' EXIT\n"+script)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = folder
	cmd.Env = append(append(os.Environ(), engineEnviron()...), asProgram+"=yes")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func TestTheWalkFromAStripeEventCallsTheAPIOnce(t *testing.T) {
	script := readmeScript(t, "From a Stripe event to your API in five minutes", "8091", map[string]string{
		"go build -o bin/stripe ./deploy/examples/stripe\n": "",
		"sleep 3\n": "until api GET '/runs?entityId=in_1&status=completed' | grep -q '\"total\":1'; do sleep 0.1; done\n",
	})
	stripe := filepath.Join(t.TempDir(), "stripe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", stripe, "../../deploy/examples/stripe").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script = strings.ReplaceAll(strings.ReplaceAll(script, "bin/stripe ", stripe+" "), "127.0.0.1:8092", freeAddress(t))
	out := walk(t, script, "grep", "cut")
	if answers := regexp.MustCompile(`the hook answered (\d+)`).FindAllStringSubmatch(out, -1); len(answers) != 3 || answers[0][1] != "200" || answers[1][1] != "200" || answers[2][1] != "401" {
		t.Errorf("the answers are others: %s", out)
	}
	if got := regexp.MustCompile(`your API got .*`).FindAllString(out, -1); len(got) != 1 || got[0] != `your API got {"cents":1250,"customer":"cus_42"}` {
		t.Errorf("your API got %q", got)
	}
	if n := len(regexp.MustCompile(`"verdict":"(accepted|duplicate|refused)"`).FindAllString(out, -1)); n != 3 || !strings.Contains(out, `"total":1`) {
		t.Errorf("%d deliveries are listed: %s", n, out)
	}
	if strings.Contains(out, "whsec_that") || strings.Contains(out, "token_of_your_api") {
		t.Errorf("a secret is shown: %s", out)
	}
}

func TestTheWalkWithATokenReachesOneCompany(t *testing.T) {
	script := readmeScript(t, "Give your customers an editor of their own", "8093", map[string]string{
		"go build -o bin/product ./deploy/examples/product\n": "",
		"sleep 1\n": "until curl -s http://127.0.0.1:8094/ >/dev/null; do sleep 0.1; done\n",
	})
	product := filepath.Join(t.TempDir(), "product")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", product, "../../deploy/examples/product").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script = strings.ReplaceAll(strings.ReplaceAll(script, "bin/product ", product+" "), "127.0.0.1:8094", freeAddress(t))
	out := walk(t, script, "grep")
	answers := regexp.MustCompile(`(?m)^\{.*$`).FindAllString(out, -1)
	want := []string{`"subTenantId":"customer-42"`, `"name":"Remind me"`, `"total":0`, `"code":"permission_missing"`, `"code":"unauthenticated"`}
	if len(answers) != len(want) {
		t.Fatalf("%d answers: %s", len(answers), out)
	}
	for i, part := range want {
		if !strings.Contains(answers[i], part) {
			t.Errorf("answer %d has no %s: %s", i+1, part, answers[i])
		}
	}
}

func TestTheREADMEShowsTheServerThatIsTried(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join("..", "..", "deploy", "examples", "product", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	shown, _, found := strings.Cut(rest, "```\n")
	indented := regexp.MustCompile(`(?m)^`).ReplaceAllString(strings.TrimSuffix(shown, "\n"), "\t\t")
	if !found || !strings.Contains(string(source), indented) {
		t.Errorf("deploy/examples/product has not what README shows:\n%s", shown)
	}
}

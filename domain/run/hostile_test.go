package run_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/workflow"
)

// mostMemory is what the process may take in which hostile runs are tried, one after
// another, with all that a test needs besides.
const mostMemory = 256 << 20

// underLimit is set for the process that tries them.
const underLimit = "RUNS_UNDER_LIMIT"

// TestWholeRunsOfAnyKindEndWithinTheirMemory draws whole workflows, and runs each from
// its beginning to its end.
func TestWholeRunsOfAnyKindEndWithinTheirMemory(t *testing.T) {
	if os.Getenv(underLimit) == "" {
		inChild(t)
		return
	}
	limitCollector()
	rapid.Check(t, hostileProperty)
}

// TestKnownHostileRunsEndWithinTheirMemory runs those that took a process down.
func TestKnownHostileRunsEndWithinTheirMemory(t *testing.T) {
	for claim, of := range knownHostileRuns() {
		t.Run(claim, func(t *testing.T) {
			if os.Getenv(underLimit) == "" {
				inChild(t)
				return
			}
			limitCollector()
			drive(t, of())
		})
	}
}

// FuzzWholeRuns lets the fuzzer look for runs that take too much or do not end.
func FuzzWholeRuns(f *testing.F) {
	for seed := range uint64(4) {
		random, drawn := rand.New(rand.NewPCG(seed, 1)), make([]byte, 1<<15)
		for i := range drawn {
			drawn[i] = byte(random.Uint32())
		}
		f.Add(drawn)
	}
	if isFuzzing() {
		limitCollector()
	}
	f.Fuzz(rapid.MakeFuzz(hostileProperty))
}

func hostileProperty(t *rapid.T) {
	h := drawHostileRun(t)
	if rapid.IntRange(0, 3).Draw(t, "simulated") == 0 {
		simulate(t, h)
	} else {
		drive(t, h)
	}
}

// knownHostileRuns are runs that are small as text.
func knownHostileRuns() map[string]func() *hostileRun {
	payload := json.RawMessage(`{"l":` + string(listOf("[]", 600_000)) + `,"n":0.` + strings.Repeat("7", 300_000) + `}`)
	return map[string]func() *hostileRun{
		"24 copies of 200,000 empty arrays in a row": func() *hostileRun {
			h := &hostileRun{payload: payload}
			var lines, links []string
			for i := range 24 {
				lines = append(lines, expr(name(i), fmt.Sprintf("({i: %d, l: payload.l})", i)))
				if i > 0 {
					links = append(links, name(i-1)+" -> "+name(i))
				}
			}
			h.nodes, h.edges = nodes(append(lines, expr("all", "Object.values(nodes).length"))...), edges(append(links, "n23 -> all")...)
			return h
		},
		"100 answers of 1 MiB of empty arrays": func() *hostileRun {
			h := &hostileRun{payload: json.RawMessage(`{}`), answers: map[workflow.NodeID]json.RawMessage{}}
			var lines []string
			for i := range 100 {
				lines = append(lines, name(i)+` httpRequest {"url": "https://example.com"}`)
				h.answers[workflow.NodeID(name(i))] = json.RawMessage(`{"status":200,"headers":{},"body":` + string(listOf("[]", 1<<20-100)) + `}`)
			}
			h.nodes = nodes(lines...)
			return h
		},
	}
}

// limitCollector makes the collector keep garbage within the limit, so that what is above
// it is in use.
func limitCollector() { debug.SetMemoryLimit(mostMemory * 6 / 10) }

// checkMemory fails when the process has taken too much; it does nothing where other tests
// share the process.
func (h *hostileRun) checkMemory(t tester) {
	if os.Getenv(underLimit) == "" && !isFuzzing() {
		return
	}
	if took := peakMemory(); took > mostMemory {
		clearPeak()
		t.Fatalf("a run of %d nodes and a payload of %d bytes took the process to %d MiB", len(h.nodes), len(h.payload), took>>20)
	}
}

func isFuzzing() bool {
	worker := flag.Lookup("test.fuzzworker")
	return worker != nil && worker.Value.String() == "true"
}

// peakMemory is the peak of the resident memory, or, where the system does not tell, what
// the runtime holds now.
func peakMemory() int64 {
	if peak := statusBytes(os.Getpid(), "VmHWM:"); peak > 0 {
		return peak
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}

// clearPeak lets a smaller failing run be looked for.
func clearPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600) // only Linux has it
}

// statusBytes reads one figure of a process from Linux's /proc; 0 when there is none.
func statusBytes(pid int, field string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return kilobytes << 10
		}
	}
	return 0
}

// inChild runs the same test in a process of its own, which is ended when it takes far
// more than it may: then it was not able to say so itself.
func inChild(t *testing.T) {
	checks := 300
	if testing.Short() {
		checks = 40
	}
	ctx, kill := context.WithCancelCause(t.Context())
	defer kill(nil)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.count=1", "-test.v",
		fmt.Sprintf("-rapid.checks=%d", checks), "-rapid.nofailfile", "-rapid.shrinktime=10s")
	cmd.Env = append(os.Environ(), underLimit+"=1")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(ctx, cmd.Process.Pid, kill)
	}()
	err := cmd.Wait()
	cause := context.Cause(ctx)
	kill(nil)
	<-watched
	if err != nil {
		t.Errorf("%v, %v\n%s", err, cause, out.String())
	}
}

// watch ends a process that takes eight times what it may.
func watch(ctx context.Context, pid int, kill context.CancelCauseFunc) {
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
			if took := statusBytes(pid, "VmRSS:"); took > 8*mostMemory {
				kill(fmt.Errorf("the process took %d MiB", took>>20))
				return
			}
		}
	}
}

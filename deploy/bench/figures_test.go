package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/deploy/harness"
)

func TestAFigureIsTheMedianAndHasAMost(t *testing.T) {
	for claim, c := range map[string]struct{ got, want figure }{
		"within its aim": {newFigure("n", "w", "ms", 5, 9, 1, 5), figure{Name: "n", What: "w", Unit: "ms", Value: 5, Low: 1, High: 9, AtMost: 5, Reached: true}},
		"above its aim":  {newFigure("n", "w", "ms", 5, 6), figure{Name: "n", What: "w", Unit: "ms", Value: 6, Low: 6, High: 6, AtMost: 5}},
		"without an aim": {newFigure("n", "w", "ms", 0, 6, 8), figure{Name: "n", What: "w", Unit: "ms", Value: 7, Low: 6, High: 8, Reached: true}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestListsOfDifferentSizesAreComparedWhereBothWereMeasured(t *testing.T) {
	few, many := result{Name: "workflows-1000", Ours: 600}, result{Name: "workflows-1000000", Ours: 400}
	if got := sameAtEverySize([]result{few, many}); len(got) != 1 || got[0].Value != 1.5 || got[0].Reached {
		t.Errorf("got %v", got)
	}
	if got := sameAtEverySize([]result{few}); got != nil {
		t.Errorf("one size alone gives %v", got)
	}
}

func TestPercentiles(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100-i) * time.Millisecond
	}
	if got := percentile(hundred, 0.99); got != 100*time.Millisecond {
		t.Errorf("of a hundred: %s", got)
	}
	if got := percentile(hundred[:1], 0.99); got != 100*time.Millisecond {
		t.Errorf("of one: %s", got)
	}
}

func TestTheTablesReplaceThoseOfTheLastRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	const around = "# Sizing\n" + beginTables + "%s" + endTables + "\nMore.\n"
	if err := os.WriteFile(file, []byte(strings.Replace(around, "%s", "\nold\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	rep := report{
		Machine: machine{CPUs: 2, Platform: "linux/amd64", Go: "go1.26", PostgreSQL: "15"}, Rounds: 5, Seconds: 3,
		Taken:   time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		Rows:    []result{{What: "POST", Ours: 90, Baseline: 100, Ratio: 0.9, LowRatio: 0.8, HighRatio: 1, Aim: 1.2, P50: 1, P99: 2, BaseP50: 0.5, BaseP99: 1.5}},
		Figures: []figure{newFigure("size", "binary", "MB", 40, 31.5).withDetail("one file")},
	}
	if err := rep.writeInto(file); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(around, "%s", `
Measured on 2026-11-21, 2 CPUs, linux/amd64, go1.26, PostgreSQL 15; medians of 5 rounds of 3 s.

| what | requests/s | baseline/s | ratio | lowest–highest | aim | p50 ms | p99 ms | baseline's p50, p99 |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
| POST | 90 | 100 | 0.90 | 0.80–1.00 | ≥ 1.20, missed | 1.00 | 2.00 | 0.50, 1.50 |

| what | measured | unit | lowest–highest | aim | from |
|---|--:|---|--:|--:|---|
| binary | 31.5 | MB |  | ≤ 40 | one file |
`, 1)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(file, []byte("no place for a table"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rep.writeInto(file); err == nil || !strings.Contains(err.Error(), beginTables) {
		t.Errorf("a file without the place for them: %v", err)
	}
}

func TestSteadyLoadCountsFromWhenARequestWasDue(t *testing.T) {
	var asked atomic.Int32
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if asked.Add(1) == 20 { // every request is under way, though none was answered
			close(release)
		}
		<-release
	}))
	defer server.Close()
	e := &env{gateway: &harness.Gateway{URL: server.URL}}
	took, err := e.fixedRate(t.Context(), loadRequest{Method: http.MethodGet, Path: "/", APIKeys: []string{"k"}}, 100, 200*time.Millisecond)
	if err != nil || len(took) != 20 || took[0] < 180*time.Millisecond {
		t.Errorf("%v, %v", took, err)
	}
}

func TestSteadyLoadThatIsRefusedIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	e := &env{gateway: &harness.Gateway{URL: server.URL}}
	q := loadRequest{Method: http.MethodGet, Path: "/", APIKeys: []string{"k"}}
	if _, err := e.fixedRate(t.Context(), q, 100, 20*time.Millisecond); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("got %v", err)
	}
}

// watched is a row whose load succeeds without a gateway.
type watched struct{ row }

func (watched) about() about { return about{name: "watched"} }

func (watched) gateway(context.Context, time.Duration) (load, error) { return load{}, nil }

func TestProfilesAreKeptUnderTheRowsName(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.URL.Path + "?" + r.URL.RawQuery)) // the client checks it
	}))
	dir := t.TempDir()
	e := &env{profiles: profileSource(server.Listener.Addr().String())}
	o := options{profiles: dir, period: 7 * time.Second, verbose: &strings.Builder{}}
	if err := e.profile(t.Context(), watched{}, o); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"watched.cpu.pprof": "/debug/pprof/profile?seconds=7", "watched.allocs.pprof": "/debug/pprof/allocs?seconds=7",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	server.Close()
	if err := e.profile(t.Context(), watched{}, o); err == nil {
		t.Error("a gateway without profiles goes unnoticed")
	}
}

func TestAnEngineIsShownNextToTheTable(t *testing.T) {
	table := engineFound{PerSecond: []float64{900, 1000, 1100}, P50: 2, database: &databaseCost{0.5, 4}}
	handed := engineFound{PerSecond: []float64{30, 50, 40}, P50: 80, database: &databaseCost{3, 8}, events: 12}
	want := "0.04 of the table's rate; a run alone takes 80.0 ms (p50); 3.0 transactions of PostgreSQL a run, besides 8.0 a second of idle gateways; 12 events in the history of one"
	if f := handed.figure("n", "w", table); f.Value != medianOf(handed.PerSecond) || f.Detail != want {
		t.Errorf("%+v", f)
	}
	if f := table.figure("n", "w", table); f.Detail != "1.00 of the table's rate; a run alone takes 2.0 ms (p50); 0.5 transactions of PostgreSQL a run, besides 4.0 a second of idle gateways" {
		t.Errorf("%+v", f)
	}
}

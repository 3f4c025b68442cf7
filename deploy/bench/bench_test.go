package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/harness"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestWrkSummaries(t *testing.T) {
	for claim, c := range map[string]struct {
		printed string
		want    load
		refused bool
	}{
		"a clean measurement gives its rate and latencies": {
			printed: "Running 2s test\n  Latency {odd}\n\n" +
				`{"requests":3000,"microseconds":1500000,"p50":1200,"p99":9000,"refused":0,"connect":0,"read":0,"write":0,"timeout":0}`,
			want: load{perSecond: 2000, p50: 1200 * time.Microsecond, p99: 9 * time.Millisecond, requests: 3000},
		},
		"one refused request spoils it": {
			printed: `{"requests":3000,"microseconds":1500000,"p50":1,"p99":1,"refused":1,"connect":0,"read":0,"write":0,"timeout":0}`,
			refused: true,
		},
		"one broken socket spoils it": {
			printed: `{"requests":3000,"microseconds":1500000,"p50":1,"p99":1,"refused":0,"connect":0,"read":1,"write":0,"timeout":0}`,
			refused: true,
		},
		"one slow request spoils it": {
			printed: `{"requests":3000,"microseconds":1500000,"p50":1,"p99":1,"refused":0,"connect":0,"read":0,"write":0,"timeout":1}`,
			refused: true,
		},
		"silence spoils it": {
			printed: `{"requests":0,"microseconds":1500000,"p50":0,"p99":0,"refused":0,"connect":0,"read":0,"write":0,"timeout":0}`,
			refused: true,
		},
	} {
		t.Run(claim, func(t *testing.T) {
			got, err := readWrk(c.printed)
			if errors.Is(err, errRefused) != c.refused || (err != nil && !c.refused) {
				t.Fatalf("error %v, want refused %v", err, c.refused)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(load{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := readWrk("unable to connect"); err == nil {
		t.Error("output without a summary is accepted")
	}
}

func TestPgbenchOutput(t *testing.T) {
	const clean = "number of transactions actually processed: 8\nnumber of failed transactions: 0 (0.000%)\ntps = 14225.25 (without initial connection time)\n"
	if got, err := readPgbench(clean); err != nil || got != 14225.25 {
		t.Errorf("got %v, %v", got, err)
	}
	for claim, printed := range map[string]string{
		"failed transactions spoil it": strings.Replace(clean, "failed transactions: 0", "failed transactions: 3", 1),
		"output without a rate":        "pgbench: error: connection failed",
	} {
		if _, err := readPgbench(printed); err == nil {
			t.Errorf("%s: accepted", claim)
		}
	}
}

func TestPgbenchLiteralsHoldNoVariables(t *testing.T) {
	if got, want := pgbenchLiteral(`{"a":1,"b":"it's \n"}`), `E'{"a"\x3a1,"b"\x3a"it''s \\n"}'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheScriptQuotesWhatItIsGiven(t *testing.T) {
	var b bytes.Buffer
	q := loadRequest{Method: "POST", Path: "/a", Body: "{\"n\":\"é\"}\n", APIKeys: []string{"k1", "k2"}, IdempotencyPrefix: "run"}
	if err := script.Execute(&b, q); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`local keys = { "k1", "k2",  }`, `"{\034n\034:\034\195\169\034}\010"`, `"run" .. "-" .. id`, "return heads[i] .. sent .. tails[i]"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the script lacks %s:\n%s", want, b.String())
		}
	}
}

func TestAResultIsTheMedianOfItsRounds(t *testing.T) {
	r := result{Aim: 0.5}
	for _, rd := range []struct{ base, ours float64 }{{100, 90}, {200, 100}, {100, 20}, {400, 240}} {
		r.RoundsTaken = append(r.RoundsTaken, newRound(load{perSecond: rd.base}, load{perSecond: rd.ours, p50: time.Millisecond, p99: 2 * time.Millisecond, requests: 7}))
	}
	r.summarize()
	r.RoundsTaken = nil
	want := result{Aim: 0.5, Ours: 95, Baseline: 150, Ratio: 0.55, LowRatio: 0.2, HighRatio: 0.9, Reached: true, P50: 1, P99: 2, Requests: 28}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

func TestTheTableIsAligned(t *testing.T) {
	got := aligned([][]string{{"WHAT", "RATE"}, {"reading ≥", "5"}, {"x", "12345"}})
	want := "WHAT        RATE\nreading ≥      5\nx          12345\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRefusalsAreTakenFromTheLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	const before = `{"status":500,"requestId":"old"}` + "\n"
	const after = `{"status":201,"requestId":"a"}` + "\n" + `{"status":503,"requestId":"b"}` + "\nno JSON\n" + `{"status":503,"requestId":"c"}` + "\n"
	if err := os.WriteFile(file, []byte(before+after), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := refusals(file, int64(len(before))), "2 × 503, first:\n  {\"status\":503,\"requestId\":\"b\"}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWrongUsageIsRefused(t *testing.T) {
	for claim, args := range map[string][]string{
		"no rounds":         {"-rounds", "0"},
		"no time":           {"-seconds", "0"},
		"a broken pattern":  {"-only", "("},
		"an unknown row":    {"-only", "^no such row$"},
		"a stray argument":  {"triggers"},
		"an unknown option": {"-fast"},
		"bare without path": {bareCommand},
		"inserts into none": {insertsCommand, "/triggers"},
	} {
		if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%s: %v", claim, err)
		}
	}
}

func TestRowsAndGaugesHaveDistinctNames(t *testing.T) {
	all := strings.Split(names(), ", ")
	if len(all) != len(allRows())+len(allGauges()) {
		t.Errorf("there are %d names", len(all))
	}
	seen := make(map[string]bool)
	for _, name := range all {
		if seen[name] {
			t.Errorf("two are named %s", name)
		}
		seen[name] = true
	}
}

// announced receives the one line that the bare server prints.
type announced chan string

func (a announced) Write(p []byte) (int, error) { a <- string(p); return len(p), nil }

func TestTheBareServerSendsTheFileAndNothingElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(file, []byte(`{"total":0}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	line, ended := make(announced, 1), make(chan error, 1)
	go func() { ended <- run(ctx, []string{bareCommand, "/nodes", file}, line, &bytes.Buffer{}) }()
	baseURL := strings.TrimSpace(<-line)
	q := loadRequest{Method: http.MethodGet, Path: "/nodes", APIKeys: []string{"k"}}
	if got, err := q.send(ctx, baseURL); err != nil || string(got) != `{"total":0}` {
		t.Errorf("got %q, %v", got, err)
	}
	q.Path = "/other"
	if _, err := q.send(ctx, baseURL); err == nil || !strings.Contains(err.Error(), "404 page not found") {
		t.Errorf("an answer without success is not shown: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func TestTheInsertingServerPutsEveryBodyIntoTheTable(t *testing.T) {
	address := pgtest.Start(t).Database(t)
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE bodies (id text PRIMARY KEY, body text)`); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "inserts.json")
	if err := os.WriteFile(file, []byte(`{"One": "INSERT INTO bodies VALUES ($1, $2)",
		"Many": "INSERT INTO bodies SELECT a.id, a.body FROM unnest($1::text[], $2::text[]) AS a(id, body)"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	line, ended := make(announced, 1), make(chan error, 1)
	go func() { ended <- run(ctx, []string{insertsCommand, "/triggers", address, file}, line, &bytes.Buffer{}) }()
	baseURL := strings.TrimSpace(<-line)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			q := loadRequest{Method: http.MethodPost, Path: "/triggers", Body: fmt.Sprintf(`{"n":%d}`, i), APIKeys: []string{"k"}}
			if got, err := q.send(ctx, baseURL); err != nil || string(got) != q.Body {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	all.Wait()
	var n int
	if err := db.QueryRowContext(t.Context(), `SELECT count(DISTINCT body) FROM bodies`).Scan(&n); err != nil || n != 50 {
		t.Errorf("%d bodies are in the table, %v", n, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

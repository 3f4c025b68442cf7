package main

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// post calls the receiver as a node does, and gives up as one does.
func post(t *testing.T, url, key, body string) (status int, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", key)
	// A connection of its own: on one that is used again, the key would let the transport
	// repeat the call by itself.
	client := http.Client{Timeout: attemptTimeout * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return got.StatusCode, got.Body.Close()
}

func TestTheReceiverFailsInEveryWayAndCountsEffects(t *testing.T) {
	found := newFindings()
	r := newReceiver(newRandom(1), found)
	server := httptest.NewServer(r)
	defer server.Close()
	seen := make(map[string]bool)
	for n := 0; n < 400 && len(seen) < 7; n++ {
		key := "run_" + strings.Repeat("x", n) + ":charge"
		body := `{"tenant":"t","run":"run_` + strings.Repeat("x", n) + `","order":{"call":"c"}}`
		tries := 0
		for status := 0; status != http.StatusOK; tries++ {
			if tries > maxFailures {
				t.Fatalf("%s failed %d times", key, tries)
			}
			status, _ = post(t, server.URL+"/calls/charge", key, body)
		}
		e := r.effects()[key]
		if len(e.calls) != tries || e.times < 1 || e.times != e.lostAnswers+1 {
			t.Fatalf("%s after %d tries", e, tries)
		}
		for name := range maps.Keys(e.failures) {
			seen[name] = true
		}
	}
	if len(seen) != 7 {
		t.Errorf("it failed only in the ways %v", seen)
	}
	if err := found.err(); err != nil {
		t.Error(err)
	}
}

func TestTheReceiverRefusesAnOrderUntilItAcceptsIt(t *testing.T) {
	r := newReceiver(newRandom(1), newFindings())
	as := callSource{"t", "run_1", "charge"}
	answered := func() int {
		w := httptest.NewRecorder()
		defer func() { _ = recover() }() // it hangs up
		r.respond("run_1:charge", as, true, "c")(w, nil)
		return w.Code
	}
	if got := answered(); got != http.StatusUnprocessableEntity {
		t.Errorf("it answered %d", got)
	}
	r.accept("c")
	if got := answered(); got == http.StatusUnprocessableEntity {
		t.Error("it still refuses the order")
	}
}

func TestTheReceiverFindsAKeyThatDoesNotFit(t *testing.T) {
	for claim, calls := range map[string][]callSource{
		"of two nodes":    {{"t", "run_1", "charge"}, {"t", "run_1", "ship"}},
		"of two tenants":  {{"t", "run_1", "charge"}, {"u", "run_1", "charge"}},
		"of another run":  {{"t", "run_2", "charge"}},
		"of another node": {{"t", "run_1", "ship"}},
	} {
		found := newFindings()
		r := newReceiver(newRandom(1), found)
		for _, as := range calls {
			r.respond("run_1:charge", as, false, "")
		}
		if found.broken(sameKey) == 0 {
			t.Errorf("a key %s is not found", claim)
		}
	}
}

func TestAClientRepeatsWhatWasNotAnsweredAndReportsWhatMustNotBe(t *testing.T) {
	for claim, c := range map[string]struct {
		first  func(w http.ResponseWriter)
		broken int
		tries  int
	}{
		"a success":           {func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) }, 0, 1},
		"a reason":            {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, 0, 1},
		"a broken connection": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 0, 2},
		"503 with Retry-After": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, 0, 2},
		"503 without":            {func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, 1, 2},
		"an internal error":      {func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, 1, 2},
		"a bad gateway":          {func(w http.ResponseWriter) { w.Header().Set("Retry-After", "1"); w.WriteHeader(http.StatusBadGateway) }, 1, 2},
		"a call that is in work": {inProgress, 0, 2},
		"another conflict":       {func(w http.ResponseWriter) { w.Header().Set("Retry-After", "1"); w.WriteHeader(http.StatusConflict) }, 0, 1},
	} {
		t.Run(claim, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 1 {
					c.first(w)
				}
			}))
			defer server.Close()
			found := newFindings()
			got, ok := newClients([]*gateway{{Gateway: &harness.Gateway{URL: server.URL}}}, found, newRandom(1)).
				do(t.Context(), "key", harness.Request{Method: http.MethodPost, Path: "/x"})
			if !ok || got.tries != c.tries || found.broken(onlyExpected) != c.broken {
				t.Errorf("answered %t after %d tries, with %v", ok, got.tries, found.err())
			}
		})
	}
}

func inProgress(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusConflict)
	_, _ = io.WriteString(w, `{"code":"idempotency_in_progress"}`) // the client checks
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-processes", "1"}, {"-tenants", "1"}, {"-runs", "0"}, {"-minutes", "0"}, {"-kills", "-1"}, {"-stalls", "-1"}, {"-no"}, {"-engine", "sand"}, {"-engine", "temporal", "-minutes", "1"}, {"-engine", "temporal", "-engine-kills", "-1"}, {"more"}} {
		if _, err := readOptions(args, io.Discard); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestEachDisturbanceExcusesOneRepeatOfACall(t *testing.T) {
	at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
	for claim, c := range map[string]struct {
		calls     []float64
		disturbed [][2]float64
		want      int
	}{
		"one call":                               {[]float64{1}, [][2]float64{{0, 9}}, 0},
		"none meanwhile":                         {[]float64{1, 2}, [][2]float64{{3, 4}, {-9, -8}}, 0},
		"one that began meanwhile":               {[]float64{1, 3}, [][2]float64{{2, 5}}, 1},
		"one that was over just before":          {[]float64{1, 3}, [][2]float64{{0, 0.5}}, 1},
		"one for two":                            {[]float64{1, 3, 4}, [][2]float64{{2, 5}}, 1},
		"two for one":                            {[]float64{1, 3}, [][2]float64{{2, 2}, {2, 4}}, 1},
		"the long one is left for the later one": {[]float64{1, 3, 9}, [][2]float64{{2, 9}, {2, 2}}, 2},
		"each of three has its own":              {[]float64{1, 3, 9, 20}, [][2]float64{{2, 9}, {2, 2}, {2.5, 3}}, 3},
	} {
		var calls []time.Time
		for _, s := range c.calls {
			calls = append(calls, at(s))
		}
		var disturbed []span
		for _, d := range c.disturbed {
			disturbed = append(disturbed, span{at(d[0]), at(d[1])})
		}
		if got := excusedRepeats(calls, disturbed); got != c.want {
			t.Errorf("%s: %d", claim, got)
		}
	}
}

func TestTheTimeOfOutagesIsCountedOnceAndWithinBounds(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	one := &outages{spans: []*span{{at(0), at(4)}, {at(10), at(12)}, {at(20), at(30)}, {from: at(50)}}}
	other := &outages{spans: []*span{{at(11), at(13)}, {at(22), at(24)}, {at(60), at(64)}, {at(62), at(70)}}}
	for claim, c := range map[string]struct{ from, to, want int }{
		"all of it":            {-5, 40, 17},
		"none":                 {5, 9, 0},
		"the end of one":       {3, 9, 1},
		"the beginning of one": {14, 22, 2},
		"the middle of one":    {23, 25, 2},
		"one that lasts":       {45, 53, 3},
	} {
		if got := awayBetween(at(c.from), at(c.to), one, other); got != time.Duration(c.want)*time.Second {
			t.Errorf("%s: %s", claim, got)
		}
	}
}

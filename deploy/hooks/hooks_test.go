package main

import (
	"strings"
	"testing"
)

func TestNoAlteredDeliveryIsAcceptedAndNoGenuineOneLost(t *testing.T) {
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			l, err := runRound(t.Context(), options{seed: 7, deliveries: 12, kills: 4, store: store, progress: t.Output()})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.report(t.Output()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALedgerThatIsNotEvenIsAnError(t *testing.T) {
	even := row{sender: "a", genuine: 2, accepted: 2, altered: 1, runs: 2}
	for claim, c := range map[string]struct {
		change func(*row)
		wrong  bool
	}{
		"even":                     {func(*row) {}, false},
		"a genuine one refused":    {func(w *row) { w.refused, w.accepted = 1, 1 }, true},
		"a genuine one not taken":  {func(w *row) { w.accepted = 1 }, true},
		"an altered one accepted":  {func(w *row) { w.alteredAccepted = 1 }, true},
		"a run missing":            {func(w *row) { w.missing = 1 }, true},
		"a run too many":           {func(w *row) { w.surplus = 1 }, true},
		"a run of an altered one":  {func(w *row) { w.ofBadOne = 1 }, true},
		"an answer out of the way": {func(w *row) { w.findings = []string{"answered 418"} }, true},
	} {
		w := even
		c.change(&w)
		var out strings.Builder
		if err := (&ledger{rows: []row{w}}).report(&out); (err != nil) != c.wrong {
			t.Errorf("%s: %v\n%s", claim, err, out.String())
		}
	}
	p := party{genuine: map[string]*outcome{"genuine-1": {accepted: 1}, "genuine-2": {accepted: 1, lost: 1}}, altered: map[string]*outcome{"altered-1": {}}}
	p.Runs = 1
	got := p.row([]summary{{"genuine-1"}, {"genuine-1"}, {"altered-1"}, {"nobody"}})
	if got.missing != 1 || got.surplus != 2 || got.ofBadOne != 1 || len(got.findings) != 1 {
		t.Errorf("got %+v", got)
	}
}

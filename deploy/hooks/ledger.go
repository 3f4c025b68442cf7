package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// ledger is what was sent, and what became of it.
type ledger struct {
	rows  []row
	kills int
	took  time.Duration
	store string
}

// row is of one sender.
type row struct {
	sender                           string
	genuine, accepted, refused       int // refused must be 0
	unanswered                       int // attempts that the gateway did not live to answer
	repeated                         int // accepted deliveries that were sent again
	altered, alteredAccepted         int // alteredAccepted must be 0
	runs, missing, surplus, ofBadOne int // all but runs must be 0
	findings                         []string
}

// summary is what a list shows of a run.
type summary struct{ EntityID string }

// audit compares what was answered with the runs that are there.
func (r *round) audit(ctx context.Context, took time.Duration) (*ledger, error) {
	l := &ledger{kills: r.kills, took: took, store: r.store}
	for _, p := range r.senders {
		runs, _, err := harness.List[summary](ctx, r.client.Get, "/runs?triggerId="+url.QueryEscape(p.trigger))
		if err != nil {
			return nil, err
		}
		l.rows = append(l.rows, p.row(runs))
	}
	return l, nil
}

func (p *party) row(runs []summary) row {
	found := map[string]int{}
	for _, run := range runs {
		found[run.EntityID]++
	}
	w := row{sender: p.Name, runs: len(runs), findings: p.findings}
	for number, o := range p.genuine {
		w.genuine++
		w.accepted += o.accepted
		w.unanswered += o.lost
		w.repeated += o.repeats
		if o.refused != 0 {
			w.refused++
			w.findings = append(w.findings, fmt.Sprintf("%s was refused with %d", number, o.refused))
		}
		least, most := o.accepted*p.Runs, o.accepted*p.Runs
		if !p.repeats() { // an attempt that was not answered may have been taken, and nothing tells the next one from another delivery
			most += o.lost * p.Runs
		}
		w.missing += max(0, least-found[number])
		w.surplus += max(0, found[number]-most)
		delete(found, number)
	}
	for number, o := range p.altered {
		w.altered++
		w.alteredAccepted += o.accepted
		w.ofBadOne += found[number]
		delete(found, number)
	}
	for number, n := range found {
		w.surplus += n
		w.findings = append(w.findings, fmt.Sprintf("%d runs of %q, which was never sent", n, number))
	}
	return w
}

// report prints the ledger. The error says what is wrong with it.
func (l *ledger) report(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells ...any) {
		for _, cell := range cells {
			_, _ = fmt.Fprintf(table, "%v\t", cell) // it goes to memory
		}
		_, _ = fmt.Fprintln(table) // likewise
	}
	line("sender", "genuine", "accepted", "refused", "unanswered", "repeated", "altered", "accepted", "runs", "missing", "surplus", "of altered")
	var sum row
	var wrong []error
	for _, w := range l.rows {
		line(w.sender, w.genuine, w.accepted, w.refused, w.unanswered, w.repeated, w.altered, w.alteredAccepted, w.runs, w.missing, w.surplus, w.ofBadOne)
		sum.genuine += w.genuine
		sum.accepted += w.accepted
		sum.refused += w.refused
		sum.unanswered += w.unanswered
		sum.repeated += w.repeated
		sum.altered += w.altered
		sum.alteredAccepted += w.alteredAccepted
		sum.runs += w.runs
		sum.missing += w.missing
		sum.surplus += w.surplus
		sum.ofBadOne += w.ofBadOne
		for _, finding := range w.findings {
			wrong = append(wrong, fmt.Errorf("%s: %s", w.sender, finding))
		}
	}
	line("all", sum.genuine, sum.accepted, sum.refused, sum.unanswered, sum.repeated, sum.altered, sum.alteredAccepted, sum.runs, sum.missing, sum.surplus, sum.ofBadOne)
	if err := table.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s, %d kills, %s\n", l.store, l.kills, l.took.Round(time.Second)); err != nil {
		return err
	}
	if sum.refused+sum.alteredAccepted+sum.missing+sum.surplus+sum.ofBadOne > 0 || sum.accepted != sum.genuine {
		wrong = append(wrong, errors.New("the ledger is not even"))
	}
	return errors.Join(wrong...)
}

func newBody(b []byte) io.Reader { return bytes.NewReader(b) }

// readAll reads what is there of an answer whose status is known.
func readAll(r io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(r, 1<<20))
	return string(text)
}

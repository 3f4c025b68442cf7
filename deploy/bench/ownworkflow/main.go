// Command ownworkflow does on a Temporal server what runs of the bench do, as one would write it for
// Temporal and with nothing of Sluice, and prints as JSON how long that takes:
//
//	go run ./deploy/bench/ownworkflow -address 127.0.0.1:7233 -shape transforms -period 3s
//
// With -describe it prints how many events the history of a workflow has.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/sluicehq/sluice/deploy/harness"
)

func main() { harness.Main("ownworkflow", run) }

// found is what is printed.
type found struct {
	PerSecond float64 `json:"perSecond"`
	P50       float64 `json:"p50"` // of a workflow alone, in milliseconds
	Events    int64   `json:"events"`
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ownworkflow", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("address", "127.0.0.1:7233", "host and port of the Temporal server")
	shape := flags.String("shape", "transforms", "what workflows do: transforms, which is to compute twice, or requests, which is to call -url three times")
	url := flags.String("url", "", "where requests go")
	period := flags.Duration("period", 3*time.Second, "how long so many workflows may take that are started at once")
	alone := flags.Int("alone", 20, "how many are started one after the other")
	describe := flags.String("describe", "", "identifier of a workflow whose events are counted; nothing is started then")
	if err := harness.ParseFlags(flags, args); err != nil {
		return err
	}
	do, known := map[string]any{"transforms": transforms, "requests": requests}[*shape]
	if !known {
		return fmt.Errorf("%w: -shape must be transforms or requests, not %q", harness.ErrUsage, *shape)
	}
	c, err := client.DialContext(ctx, client.Options{HostPort: *address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return err
	}
	defer c.Close()
	b := bench{client: c, queue: "own-" + *shape + "-" + strconv.FormatInt(time.Now().UnixNano(), 36), do: do, order: order{ID: "order-1042", Amount: 1250, Customer: "Ada", URL: *url}}
	var result found
	if *describe != "" {
		result.Events, err = b.eventsOf(ctx, *describe)
	} else {
		result, err = b.measure(ctx, *period, *alone)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(result)
}

// order is what a workflow is about.
type order struct {
	ID       string
	Amount   float64
	Customer string
	URL      string
}

// transforms computes twice. That needs nothing outside, so the steps are local activities, which cost least.
func transforms(ctx workflow.Context, o order) (notice string, err error) {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	var total float64
	if err = workflow.ExecuteLocalActivity(ctx, computeTotal, o).Get(ctx, &total); err != nil {
		return "", err
	}
	err = workflow.ExecuteLocalActivity(ctx, writeNotice, o, total).Get(ctx, &notice)
	return notice, err
}

func computeTotal(_ context.Context, o order) (float64, error) { return o.Amount * 1.23, nil }

func writeNotice(_ context.Context, o order, total float64) (string, error) {
	return fmt.Sprintf("Order %s of %s is worth %g", o.ID, o.Customer, total), nil
}

// requests calls a server three times, one call after the other.
func requests(ctx workflow.Context, o order) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for range 3 {
		if err := workflow.ExecuteActivity(ctx, post, o).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func post(ctx context.Context, o order) error {
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // nothing follows
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the server answered %d", res.StatusCode)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// bench starts workflows, and works on them.
type bench struct {
	client client.Client
	queue  string
	do     any // the workflow
	order  order
}

// Of the workflows that are started at once, so many starters start them, and as many are a first guess.
const (
	starters   = 16
	firstGuess = 64
)

func (b bench) measure(ctx context.Context, period time.Duration, alone int) (result found, err error) {
	w := worker.New(b.client, b.queue, worker.Options{})
	w.RegisterWorkflow(b.do)
	w.RegisterActivity(post)
	if err := w.Start(); err != nil {
		return result, err
	}
	defer w.Stop()
	guess, err := b.rate(ctx, firstGuess)
	if err != nil {
		return result, err
	}
	if result.PerSecond, err = b.rate(ctx, max(firstGuess, int(guess*period.Seconds()))); err != nil {
		return result, err
	}
	var took []time.Duration
	for range alone {
		r, err := b.start(ctx)
		if err != nil {
			return result, err
		}
		if err := r.Get(ctx, nil); err != nil {
			return result, err
		}
		events, lasted, err := b.describe(ctx, r.GetID())
		if err != nil {
			return result, err
		}
		took, result.Events = append(took, lasted), events
	}
	if len(took) > 0 {
		slices.Sort(took)
		result.P50 = float64(took[len(took)/2].Microseconds()) / 1000
	}
	return result, nil
}

func (b bench) start(ctx context.Context) (client.WorkflowRun, error) {
	return b.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: b.queue}, b.do, b.order)
}

// rate starts so many workflows at once, and says how many a second ended until the last one had.
func (b bench) rate(ctx context.Context, count int) (perSecond float64, err error) {
	var working sync.WaitGroup
	began, next, failed := time.Now(), make(chan struct{}, count), make(chan error, count)
	started := make(chan client.WorkflowRun, count)
	for range count {
		next <- struct{}{}
	}
	close(next)
	for range starters {
		working.Go(func() {
			for range next {
				r, err := b.start(ctx)
				if err != nil {
					failed <- err
					return
				}
				started <- r
			}
		})
	}
	working.Wait()
	close(started)
	for r := range started {
		if err := r.Get(ctx, nil); err != nil {
			return 0, err
		}
	}
	took := time.Since(began)
	close(failed)
	for err := range failed {
		return 0, err
	}
	return float64(count) / took.Seconds(), nil
}

// endTimeout is how long after its run a workflow may end.
const endTimeout = 10 * time.Second

// eventsOf waits until a workflow has ended, and says how many events it has.
func (b bench) eventsOf(ctx context.Context, id string) (events int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	if err := b.client.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
		return 0, err
	}
	events, _, err = b.describe(ctx, id)
	return events, err
}

// describe says how many events a workflow that has ended has, and how long it lasted.
func (b bench) describe(ctx context.Context, id string) (events int64, lasted time.Duration, err error) {
	d, err := b.client.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return 0, 0, err
	}
	if d.WorkflowCloseTime == nil {
		return 0, 0, errors.New("the workflow has not ended")
	}
	return int64(d.HistoryLength), d.WorkflowCloseTime.Sub(d.WorkflowStartTime), nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// fire sends the gateway a lead, and shows the run that it starts.
func (c customer) fire(ctx context.Context, company string, employees int) error {
	trigger, err := c.variable("TRIGGER_ID")
	if err != nil {
		return err
	}
	var started struct{ RunID string }
	err = c.Post(ctx, "/triggers/"+url.PathEscape(trigger)+"/webhook", map[string]any{
		"entityId": "lead-" + company, "eventData": map[string]any{"company": company, "employees": employees},
	}, &started)
	if err != nil {
		return err
	}
	c.printf("The gateway has accepted it: run %s.", started.RunID)
	return c.show(ctx, started.RunID, "pending", "running")
}

// review sends what a person thinks of the lead whose run waits for it.
func (c customer) review(ctx context.Context, entity string, score int) error {
	grade := "warm"
	if score < 50 {
		grade = "cold"
	}
	var ingested struct{ Resumed []struct{ RunID string } }
	err := c.Post(ctx, "/triggers/ingest", map[string]any{
		"event": "lead.reviewed", "entityId": entity, "eventData": map[string]any{"score": score, "grade": grade},
	}, &ingested)
	if err != nil {
		return err
	}
	if len(ingested.Resumed) == 0 {
		return fmt.Errorf("no run about %s waits for it", entity)
	}
	run := ingested.Resumed[0].RunID
	c.printf("It goes on: run %s.", run)
	return c.show(ctx, run, "pending", "running", "paused")
}

// runState is what the API shows of a run.
type runState struct {
	Status  string
	Error   *struct{ Code, Message string }
	Context struct{ Data map[string]any }
}

// show waits until the run has a status other than these, and shows what became of it.
func (c customer) show(ctx context.Context, id string, passing ...string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		var run runState
		if err := c.Get(ctx, "/runs/"+url.PathEscape(id), &run); err != nil {
			return err
		}
		if !slices.Contains(passing, run.Status) {
			return c.printOutcome(run)
		}
		if !harness.Sleep(ctx, 50*time.Millisecond) {
			return fmt.Errorf("run %s is still %s", id, run.Status)
		}
	}
}

// printOutcome shows how the run ended, and the outputs of its nodes.
func (c customer) printOutcome(run runState) error {
	c.printf("It is %s.", run.Status)
	if run.Error != nil {
		c.printf("  %s: %s", run.Error.Code, run.Error.Message)
	}
	for _, node := range []string{"score", "call", "each", "write"} {
		output, ok := run.Context.Data[node]
		if !ok {
			continue
		}
		text, err := json.Marshal(output)
		if err != nil {
			return err
		}
		c.printf("  %s gave %s", node, text)
	}
	return nil
}

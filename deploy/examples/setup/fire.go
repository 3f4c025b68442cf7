package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// fire tells the gateway of a lead, and shows the run that it starts.
func (c customer) fire(ctx context.Context, company string, employees int) error {
	trigger, err := c.needs("TRIGGER_ID")
	if err != nil {
		return err
	}
	fired, err := c.post(ctx, "/triggers/"+url.PathEscape(trigger)+"/webhook", object{
		"entityId": "lead-" + company, "eventData": object{"company": company, "employees": employees},
	})
	if err != nil {
		return err
	}
	c.say("The gateway has taken it down: run %s.", fired.text("runId"))
	return c.show(ctx, fired.text("runId"), "pending", "running")
}

// review says what a person thinks of the lead whose run waits for it.
func (c customer) review(ctx context.Context, entity string, score int) error {
	grade := "warm"
	if score < 50 {
		grade = "cold"
	}
	ingested, err := c.post(ctx, "/triggers/ingest", object{
		"event": "lead.reviewed", "entityId": entity, "eventData": object{"score": score, "grade": grade},
	})
	if err != nil {
		return err
	}
	resumed, _ := ingested["resumed"].([]any)
	if len(resumed) == 0 {
		return fmt.Errorf("no run about %s waits for it: %v", entity, ingested)
	}
	run, _ := resumed[0].(map[string]any)
	c.say("It goes on: run %s.", object(run).text("runId"))
	return c.show(ctx, object(run).text("runId"), "pending", "running", "paused")
}

// patience is how long a run is waited for.
const patience = 30 * time.Second

// show waits until the run is something else than it is passing through, and shows what.
func (c customer) show(ctx context.Context, id string, passing ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		run, err := c.call(ctx, http.MethodGet, "/runs/"+url.PathEscape(id), nil)
		if err != nil {
			return err
		}
		if !among(run.text("status"), passing) {
			return c.outcome(run)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("run %s is still %s", id, run.text("status"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func among(text string, list []string) bool {
	for _, one := range list {
		if one == text {
			return true
		}
	}
	return false
}

// outcome shows how the run stands, and what its nodes gave.
func (c customer) outcome(run object) error {
	c.say("It is %s.", run.text("status"))
	if failure := run.object("error"); failure != nil {
		c.say("  %s: %s", failure.text("code"), failure.text("message"))
	}
	data := run.object("context").object("data")
	for _, node := range []string{"score", "call", "write"} {
		gave, ok := data[node]
		if !ok {
			continue
		}
		text, err := json.Marshal(gave)
		if err != nil {
			return err
		}
		c.say("  %s gave %s", node, text)
	}
	return nil
}

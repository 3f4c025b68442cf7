package trigger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

func TestWhatSelectsPayloads(t *testing.T) {
	type selection struct {
		Filter  string
		Members int // of the schema
		Selects bool
		Bound   trigger.Concurrency
	}
	for text, want := range map[string]selection{
		`{}`:                                   {},
		`{"filter":"","payloadSchema":{}}`:     {},
		`{"filter":null,"payloadSchema":null}`: {},
		`{"concurrency":null}`:                 {},
		`{"concurrency":{ }}`:                  {},
		`{"concurrency":{"limit":2,"key":"","overflow":null}}`:                        {Selects: true, Bound: trigger.Concurrency{Limit: 2, Overflow: trigger.OverflowQueue}},
		`{"concurrency":{"limit":1e3,"key":"payload.id","overflow":"cancelRunning"}}`: {Selects: true, Bound: trigger.Concurrency{Key: "payload.id", Limit: 1000, Overflow: trigger.OverflowCancel}},
		`{"payloadSchema":{ }}`:                     {},
		`{"filter":"payload.a > 1"}`:                {Filter: "payload.a > 1", Selects: true},
		`{"payloadSchema":{"a":{"type":"string"}}}`: {Members: 1, Selects: true},
		`{"payloadSchema":{"a":{"type":"string"}, "b":{"type":"any"}},"filter":"1"}`: {Filter: "1", Members: 2, Selects: true},
	} {
		parsed, found := trigger.ParseConfig(domain.RestoreDocument(text))
		if found != nil {
			t.Errorf("%s: %v", text, found)
		}
		for _, c := range []trigger.Config{parsed, trigger.RestoreConfig(text)} {
			got := selection{Selects: c.Selects()}
			got.Filter, _ = c.Filter()
			got.Bound, _ = c.Concurrency()
			schema, _ := c.PayloadSchema()
			got.Members = schema.Len()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", text, diff)
			}
		}
	}
}

func TestWhatWasKeptBeforeItMeantAnythingSelectsNothing(t *testing.T) {
	for _, text := range []string{`{"filter":{"a":1}}`, `{"filter":[]}`, `{"payloadSchema":"none"}`, `{"payloadSchema":{"a":"string"}}`, `{"concurrency":5}`, `{"concurrency":{"limit":"one"}}`} {
		c := trigger.RestoreConfig(text)
		_, filters := c.Filter()
		_, bounds := c.Concurrency()
		if _, checks := c.PayloadSchema(); filters || checks || bounds {
			t.Errorf("%s selects", text)
		}
	}
}

func TestExpressionsOfAConfigurationAreChecked(t *testing.T) {
	for text, want := range map[string][]domain.Violation{
		`{}`:                                     nil,
		`{"filter":""}`:                          nil,
		`{"filter":"payload.amount > 1"}`:        nil,
		`{"filter":"input.amount > 1"}`:          {{Field: "config.filter", Code: "bad_expression", Message: "must be an expression that compiles: line 1, column 1: input is not known"}},
		`[]`:                                     nil,
		`{"concurrency":{"key":"id"}}`:           {{Field: "config.concurrency.key", Code: "bad_expression", Message: "must be an expression that compiles: line 1, column 1: id is not known"}},
		`{"concurrency":{"key":"id","limit":1}}`: {{Field: "config.concurrency.key", Code: "bad_expression", Message: "must be an expression that compiles: line 1, column 1: id is not known"}},
		`{"filter":"payload."}`:                  {{Field: "config.filter", Code: "bad_expression", Message: "must be an expression that compiles: line 1, column 9: "}},
	} {
		got := trigger.CheckExpressions(domain.RestoreDocument(text), expression.Checker{})
		for i := range got {
			if len(want) > i && len(got[i].Message) > len(want[i].Message) {
				got[i].Message = got[i].Message[:len(want[i].Message)]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

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
	}
	for text, want := range map[string]selection{
		`{}`:                                        {},
		`{"filter":"","payloadSchema":{}}`:          {},
		`{"filter":null,"payloadSchema":null}`:      {},
		`{"payloadSchema":{ }}`:                     {},
		`{"filter":"payload.a > 1"}`:                {Filter: "payload.a > 1", Selects: true},
		`{"payloadSchema":{"a":{"type":"string"}}}`: {Members: 1, Selects: true},
		`{"payloadSchema":{"a":{"type":"string"}, "b":{"type":"any"}},"filter":"1"}`: {"1", 2, true},
	} {
		parsed, found := trigger.ParseConfig(domain.RestoreDocument(text))
		if found != nil {
			t.Errorf("%s: %v", text, found)
		}
		for _, c := range []trigger.Config{parsed, trigger.RestoreConfig(text)} {
			got := selection{Selects: c.Selects()}
			got.Filter, _ = c.Filter()
			schema, _ := c.PayloadSchema()
			got.Members = schema.Len()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", text, diff)
			}
		}
	}
}

func TestWhatWasKeptBeforeItMeantAnythingSelectsNothing(t *testing.T) {
	for _, text := range []string{`{"filter":{"a":1}}`, `{"filter":[]}`, `{"payloadSchema":"none"}`, `{"payloadSchema":{"a":"string"}}`} {
		c := trigger.RestoreConfig(text)
		_, filters := c.Filter()
		if _, checks := c.PayloadSchema(); filters || checks {
			t.Errorf("%s selects", text)
		}
	}
}

func TestExpressionsOfAConfigurationAreChecked(t *testing.T) {
	for text, want := range map[string][]domain.Violation{
		`{}`:                              nil,
		`{"filter":""}`:                   nil,
		`{"filter":"payload.amount > 1"}`: nil,
		`{"filter":"input.amount > 1"}`:   {{Field: "config.filter", Code: "bad_expression", Message: "must be an expression that compiles: line 1, column 1: input is not known"}},
		`{"filter":"payload."}`:           {{Field: "config.filter", Code: "bad_expression", Message: "must be an expression that compiles: line 1, column 9: "}},
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

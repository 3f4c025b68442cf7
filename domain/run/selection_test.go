package run_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
)

func TestATriggerSelectsPayloads(t *testing.T) {
	const schema = `"payloadSchema":{"amount":{"type":"number","required":true,"min":0},"lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string","pattern":"^[A-Z]+$"}}}}}`
	for claim, c := range map[string]struct{ config, payload, want string }{
		"nothing is asked for":                  {`{}`, `null`, "selected"},
		"the filter is true":                    {`{"filter":"payload.amount >= 1000"}`, `{"amount":1000}`, "selected"},
		"the filter is false":                   {`{"filter":"payload.amount >= 1000"}`, `{"amount":999.5}`, "filtered"},
		"it is what JavaScript takes for true":  {`{"filter":"payload.name"}`, `{"name":"x"}`, "selected"},
		"it is what JavaScript takes for false": {`{"filter":"payload.name"}`, `{"name":""}`, "filtered"},
		"a member that it reads is missing": {`{"filter":"payload.order.total > 1"}`, `{}`,
			`filter_failed: The filter of the trigger cannot be computed with this payload: line 1, column 15: payload.order is undefined; cannot read "total"; write ?. before it where it may be missing`},
		"it does not compile": {`{"filter":"payload.amount >="}`, `{"amount":1}`, "selected"},
		"the payload fits":    {`{` + schema + `}`, `{"amount":0,"lines":[{"sku":"A"}],"more":true}`, "selected"},
		"the payload does not": {`{` + schema + `,"filter":"false"}`, `{"amount":-1,"lines":[{},{"sku":"a"}]}`,
			"payload_invalid: The payload does not fit what the trigger takes.; eventData.amount must be at least 0, not -1; eventData.lines[1].sku must match the pattern ^[A-Z]+$"},
		"it is no object":     {`{` + schema + `}`, `[1]`, "payload_invalid: The payload does not fit what the trigger takes.; eventData must be an object, not an array"},
		"a member is missing": {`{` + schema + `}`, `{}`, "payload_invalid: The payload does not fit what the trigger takes.; eventData.amount must be given: a number"},
	} {
		t.Run(claim, func(t *testing.T) {
			s, err := run.NewSelector([]byte(c.payload), expression.Compiler{}, noon)
			if err != nil {
				t.Fatal(err)
			}
			got := "selected"
			switch made := s.Select(trigger.Restore(trigger.State{Type: trigger.Webhook, Config: trigger.RestoreConfig(c.config)})); {
			case made.Refused != nil:
				got = made.Refused.Error()
			case made.Filtered:
				got = "filtered"
			}
			if got != c.want {
				t.Errorf("it is\n%s, not\n%s", got, c.want)
			}
		})
	}
}

func TestASchedulesPayloadIsOnlyFiltered(t *testing.T) {
	s, err := run.NewSelector([]byte(`{"scheduledAt":"2026-05-01T10:00:00.000Z"}`), expression.Compiler{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	config := trigger.RestoreConfig(`{"payloadSchema":{"amount":{"type":"number","required":true}},"filter":"payload.scheduledAt > '2026-05-01'"}`)
	if made := s.Select(trigger.Restore(trigger.State{Type: trigger.Scheduled, Config: config})); made.Refused != nil || made.Filtered {
		t.Errorf("%+v", made)
	}
}

func TestSelectingCountsSteps(t *testing.T) {
	trg := trigger.Restore(trigger.State{Type: trigger.Webhook, Config: trigger.RestoreConfig(`{"filter":"payload.map(x => x + 1).length > 1"}`)})
	used := func(payload string, times int) int64 {
		s, err := run.NewSelector([]byte(payload), expression.Compiler{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		for range times {
			s.Select(trg)
		}
		return s.Used()
	}
	if few, many, twice := used(`[1]`, 1), used(`[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]`, 1), used(`[1]`, 2); few == 0 || many < few+60 || twice < few*3/2 {
		t.Errorf("%d, %d and %d steps", few, many, twice)
	}
}

func TestSchemasOfPayloadsCountSteps(t *testing.T) {
	used := func(schema, payload string) int64 {
		s, err := run.NewSelector([]byte(payload), expression.Compiler{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		before := s.Used()
		s.Select(trigger.Restore(trigger.State{Type: trigger.Webhook, Config: trigger.RestoreConfig(`{"payloadSchema":{` + schema + `}}`)}))
		return s.Used() - before
	}
	const list = `"l":{"type":"array","items":{"type":"array"}}`
	few, many := used(list, `{"l":[[],[]]}`), used(list, `{"l":[`+strings.Repeat("[],", 10_000)+`[]]}`)
	long := used(list+strings.Repeat(` `, 1000), `{"l":[[],[]]}`)
	if few == 0 || many < few+10_000 || long < few+100 {
		t.Errorf("%d, %d and %d steps", few, many, long)
	}
}

func TestAnAnswerTellsFewProblems(t *testing.T) {
	var all run.Problems
	one := func(n, size int) []domain.Violation {
		return slices.Repeat([]domain.Violation{{Field: strings.Repeat("f", size)}}, n)
	}
	for i, want := range []int{200, 200, 100, 0} {
		if got := len(all.Keep(one(200, 10))); got != want {
			t.Errorf("%d of those of trigger %d are told, not %d", got, i, want)
		}
	}
	var large run.Problems
	if first, others := len(large.Keep(one(200, 1<<20))), len(large.Keep(one(1, 1))); first != 1 || others != 0 {
		t.Errorf("of large ones %d and %d are told", first, others)
	}
}

func TestKeysAreComparedAsText(t *testing.T) {
	lane := func(key, payload string) string {
		s, err := run.NewSelector([]byte(payload), expression.Compiler{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		made := s.Select(trigger.Restore(trigger.State{ID: "trg_1", Type: trigger.Webhook, Config: trigger.RestoreConfig(`{"concurrency":{"limit":2,"key":"` + key + `"}}`)}))
		if made.Refused != nil {
			return made.Refused.Code
		}
		if made.Lane.Bounds() && made.Lane.Limit != 2 {
			t.Errorf("the limit is %d", made.Lane.Limit)
		}
		return made.Lane.Name
	}
	five := lane("payload.id", `{"id":5}`)
	for payload, same := range map[string]bool{
		`{"id":"5"}`: true, `{"id":5.0}`: true, `{"id":5e0}`: true, `{"id":50}`: false, `{"id":"5 "}`: false, `{"id":[5]}`: false, `{"id":true}`: false, `{"id":""}`: false,
	} {
		if got := lane("payload.id", payload); got == "" || same != (got == five) {
			t.Errorf("%s has the lane %s, next to %s", payload, got, five)
		}
	}
	for _, payload := range []string{`{"id":null}`, `{}`, `[]`} {
		if got := lane("payload.id", payload); got != "" {
			t.Errorf("%s has the lane %s", payload, got)
		}
	}
	if got := lane("payload.order.id", `{}`); got != run.CodeKeyFailed {
		t.Errorf("a key that cannot be computed gives %s", got)
	}
	if got := lane("payload.", `{}`); got != "" {
		t.Errorf("a key that does not compile gives %s", got)
	}
	if a, b := lane("", `{}`), lane("", `{"id":5}`); a == "" || a != b {
		t.Errorf("without a key the lanes are %s and %s", a, b)
	}
	if len(five) > 60 || five[:6] != "trg_1:" {
		t.Errorf("the lane is %s", five)
	}
}

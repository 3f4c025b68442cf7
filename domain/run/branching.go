package run

import (
	"encoding/json"
	"strconv"

	"github.com/sluicehq/sluice/domain/node"
)

// triggerAction is a trigger's node: it gives what it receives.
type triggerAction struct{}

func (triggerAction) begin(m *machine, i int) { m.pass(i, "") }

// conditionAction chooses true or false.
type conditionAction struct{ test *evaluator }

func (p planner) condition(config map[string]any) action {
	source, _ := config["condition"].(string)
	return conditionAction{newEvaluator(p.compiler, "config.condition", source, p.scope)}
}

func (c conditionAction) begin(m *machine, i int) {
	value, failure := c.test.evaluate(m.view, i, m.at, nil)
	if failure != nil {
		m.fail(i, *failure)
		return
	}
	branch := node.BranchFalse
	if truthy(value) {
		branch = node.BranchTrue
	}
	m.pass(i, branch)
}

// switchAction is a switch: the first case that matches what the expression gives, else the
// default.
type switchAction struct {
	subject *evaluator
	cases   []any
}

func (p planner) switchAction(config map[string]any) action {
	source, _ := config["expression"].(string)
	c := switchAction{subject: newEvaluator(p.compiler, "config.expression", source, p.scope)}
	cases, _ := config["cases"].([]any)
	for _, one := range cases {
		members, _ := one.(map[string]any)
		c.cases = append(c.cases, members["value"])
	}
	return c
}

func (c switchAction) begin(m *machine, i int) {
	value, failure := c.subject.evaluate(m.view, i, m.at, nil)
	if failure != nil {
		m.fail(i, *failure)
		return
	}
	for at, wanted := range c.cases {
		if matches(value, wanted) {
			m.pass(i, node.CaseBranch(at))
			return
		}
	}
	m.pass(i, node.BranchDefault)
}

// matches says whether a value is that of a case. Text matches a number or boolean that is
// spelled so as well: forms write "5" and "true" for 5 and true.
func matches(value, wanted any) bool {
	text, isText := wanted.(string)
	if !isText {
		return equal(value, wanted)
	}
	switch v := value.(type) {
	case string:
		return v == text
	case bool:
		return strconv.FormatBool(v) == text
	case json.Number:
		if v.String() == text {
			return true
		}
	}
	number, isNumber := double(value)
	spelled, err := appendNumber(nil, number)
	return isNumber && err == nil && string(spelled) == text
}

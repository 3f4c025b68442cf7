package run

import (
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/workflow"
)

// triggerAction is a trigger's node: it gives what it receives.
type triggerAction struct{}

func (triggerAction) begin(m *machine, i int) { m.pass(i, "") }

// conditionAction chooses true or false.
type conditionAction struct{ test *evaluator }

func (p planner) condition(config map[string]any) action {
	source, _ := config["condition"].(string)
	return conditionAction{newEvaluator(p.compiler, "config.condition", source, workflow.NodeScope())}
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

// switchAction is a switch: the first case whose value equals that of the expression,
// type and all, else the default.
type switchAction struct {
	subject *evaluator
	cases   []any
}

func (p planner) switchAction(config map[string]any) action {
	source, _ := config["expression"].(string)
	c := switchAction{subject: newEvaluator(p.compiler, "config.expression", source, workflow.NodeScope())}
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
		if equal(value, wanted) {
			m.pass(i, node.CaseBranch(at))
			return
		}
	}
	m.pass(i, node.BranchDefault)
}

package workflow

import (
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/typing"
)

// Callee is a workflow that nodes call, as far as it is known.
type Callee struct {
	Graph    Graph         // of its active version; without nodes where that is not known
	Payloads []node.Schema // one of which its triggers declare; none for any payload
}

// PayloadType is the type of what runs begin with that fits one of the schemas; any for none.
func PayloadType(of []node.Schema) typing.Type {
	payloads := make([]typing.Type, len(of))
	for i, schema := range of {
		payloads[i] = typing.FromSchema(schema, typing.Open)
	}
	return typing.Union(payloads...)
}

// Calls lists the workflows that nodes call, each once.
func (g Graph) Calls() []ID { return g.callsOf(nil) }

// callsOf lists what some of the nodes call; nil are all.
func (g Graph) callsOf(wanted []bool) (called []ID) {
	for i, n := range g.nodes {
		if kind, known := node.BuiltIn(node.Type(n.Type)); known && kind.StartsRun && (wanted == nil || wanted[i]) {
			config, _ := object(n.Config)
			if id, isText := config[node.CalledMember].(string); isText && !slices.Contains(called, ID(id)) {
				called = append(called, ID(id))
			}
		}
	}
	return called
}

// checkCall reports a workflow that is called and is not there, and an input that none of its
// triggers takes. What is no text is reported by the schema, and a template by the type.
func (c *checker) checkCall(config subject, i int) {
	s := &c.steps[i]
	id, isText := s.config[node.CalledMember].(string)
	if !s.kind.StartsRun || !isText || strings.Contains(id, "{{") {
		return
	}
	callee, known := c.env.Called[ID(id)]
	if !known {
		c.found.add(config.member(node.CalledMember), domain.Unknown, "must be the id of a workflow of the same sub-tenant; there is no %s", quote(NodeID(id)))
	}
	if !s.calls.IsAny() && s.calls.Kinds()&typing.Undefined != 0 {
		return // what flows into the node may be the input instead
	}
	reason := ""
	for _, schema := range callee.Payloads {
		if reason = s.calls.Misfit(schema.Whole()); reason == "" {
			return
		}
	}
	if reason != "" {
		c.found.add(config.member("input"), TypeClash, "must be what the triggers of the workflow that is called declare: it %s", reason)
	}
}

// calledType is what a node gives that calls a workflow. Its runs are of the version that is active
// then, which nothing makes sure is the one that is known.
func (c *checker) calledType(s *step) typing.Type {
	started := typing.NewObject().Set("runId", typing.Of(typing.String)).Type()
	switch waits := s.config["wait"].(type) {
	case nil:
	case bool:
		if !waits {
			return started
		}
	default:
		return typing.Any
	}
	id, _ := s.config[node.CalledMember].(string)
	result, known := c.results[ID(id)]
	if callee := c.env.Called[ID(id)]; !known && len(callee.Graph.nodes) > 0 {
		if result = resultOf(callee, c.env); !result.IsAny() {
			result = result.Claimed()
		}
		c.results[ID(id)] = result
	}
	return result
}

// resultOf is the type of what a completed run of a workflow gives. Of what that calls itself
// nothing is known.
func resultOf(callee Callee, env Environment) typing.Type {
	g := callee.Graph
	c := newChecker(g, Environment{Registry: env.Registry, Expressions: env.Expressions, Payload: PayloadType(callee.Payloads)})
	c.quiet = true
	var outermost []int
	for i, n := range g.nodes {
		c.steps[i] = c.prepare(nodeSubject(i, n), n)
		if _, nested := g.parent(i); !nested {
			outermost = append(outermost, i)
		}
	}
	c.visitAll(nil, c.typeOutput)
	return c.resultType(outermost)
}

package workflow

import (
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/typing"
)

// checkBodies reports parents that run no other nodes, nodes that do and have none, and trigger
// nodes in a body.
func (c *checker) checkBodies() {
	for i, n := range c.g.nodes {
		about := nodeSubject(i, n)
		if parent, nested := c.g.parent(i); nested {
			of := c.steps[parent]
			switch {
			case of.known && !of.kind.RunsBody:
				c.found.add(about.member("parentId"), NotAContainer, "must be the id of a node that runs others, such as a %s; %s is of type %s",
					node.ForEach, quote(n.Parent), quote(string(of.kind.Type)))
			case node.Type(n.Type).IsTrigger():
				c.found.add(about.member("parentId"), TriggerInBody, "must be left out: runs start at trigger nodes, and no run starts in a body")
			}
		}
		if c.steps[i].kind.RunsBody && len(c.g.bodies[i]) == 0 {
			c.found.add(about, EmptyBody, "has nothing to run for its items: give the nodes of its body the parentId %s", quote(n.ID))
		}
	}
}

// checkItems checks the expression for the items of a body, and returns what each is.
func (c *checker) checkItems(about subject, source any, at site) typing.Type {
	if text, _ := source.(string); text == "" {
		return typing.Any // reported by the schema
	}
	items := c.compile(about, source, at).Type
	c.needs(about, items, typing.Array, "the array of the items")
	return itemOf(items)
}

// itemOf is the type of what is in an array.
func itemOf(items typing.Type) typing.Type {
	if items.Within(typing.Array | typing.Nullish) {
		return items.Items()
	}
	return typing.Any
}

// within is what is certain where a run in the body of a node begins. What is known of the item
// of a body around it is not so of its own.
func (c *checker) within(place int) before {
	b := c.steps[place].before
	b.facts = slices.DeleteFunc(slices.Clone(b.facts), func(f typing.Fact) bool {
		root, _, _ := strings.Cut(f.Path, ".")
		return slices.Contains(BodyScope(), root)
	})
	return b
}

// resultsType is what a node gives that runs a body.
func (c *checker) resultsType(place int) typing.Type {
	result := c.resultType(c.g.bodies[place]).Stored()
	if onError, _ := c.steps[place].config["onItemError"].(string); onError == node.ContinueOnItemError {
		result = result.Or(typing.Of(typing.Null))
	}
	all := typing.NewObject()
	all.Spread(typing.FromSchema(c.steps[place].output, typing.Exact), c.steps[place].output.Len())
	return all.Set("results", typing.List(result)).Type()
}

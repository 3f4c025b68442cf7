package workflow

import (
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// checkExpressions compiles the expressions and templates in a configuration.
func (c *checker) checkExpressions(about subject, i int) {
	s, unseen := c.steps[i], c.unseenBy(i)
	switch s.kind.Type {
	case node.Condition:
		c.compile(about.member("condition"), s.config["condition"], unseen, NodeScope())
	case node.Switch:
		c.compile(about.member("expression"), s.config["expression"], unseen, NodeScope())
	case node.Code:
		c.compileCode(about.member("source"), s.config["source"])
	case node.Wait:
		c.compileTime(about.member("until"), s.config["until"], unseen)
	case node.WaitForEvent:
		if event, _ := s.config["event"].(string); strings.Contains(event, "{{") {
			c.found.add(about.member("event"), domain.NotAllowed, "must be the name of an event itself: {{ expressions }} are not resolved here")
		}
	case node.Transform:
		transformType, _ := s.config["transformType"].(string)
		c.compile(about.member("source"), s.config["source"], unseen, NodeScope())
		c.compileEach(about.member("expression"), s.config["expression"], unseen, transformType)
		c.compileMapping(about.member("mapping"), s.config["mapping"], unseen, TransformScope(transformType))
	}
	for _, t := range c.templates(about, s) {
		check := c.env.Expressions.CheckTemplate
		if s.kind.URLMember != "" && t.about.path == about.member(s.kind.URLMember).path {
			check = c.env.Expressions.CheckURLTemplate
		}
		named, err := check(t.text, NodeScope()...)
		if err != nil {
			c.found.add(t.about, BadExpression, "must be a template that compiles: %s", err)
			continue
		}
		c.checkNamed(t.about, named, unseen)
		var r domain.Rules
		s.kind.CheckTemplate(&r, about.path, t.about.path, t.text)
		for _, v := range r.Violations() {
			c.found.add(t.about, v.Code, "%s", v.Message)
		}
	}
}

// compile checks one expression. An absent, empty or mistyped one is reported by the
// configuration schema.
func (c *checker) compile(about subject, source any, unseen func(int) bool, roots []string) {
	c.compileAs("an expression that compiles", about, source, unseen, roots)
}

func (c *checker) compileAs(wanted string, about subject, source any, unseen func(int) bool, roots []string) {
	text, isText := source.(string)
	if !isText || text == "" {
		return
	}
	named, err := c.env.Expressions.CheckExpression(text, roots...)
	if err != nil {
		c.found.add(about, BadExpression, "must be %s: %s", wanted, err)
	}
	c.checkNamed(about, named, unseen)
}

// compileCode checks the source of a code node.
func (c *checker) compileCode(about subject, source any) {
	text, isText := source.(string)
	if !isText || text == "" || c.env.CompileCode == nil {
		return
	}
	if problem := c.env.CompileCode(text); problem != "" {
		c.found.add(about, BadCode, "must be the body of a function that compiles: %s", problem)
	}
}

// compileTime checks a time, or an expression that gives one.
func (c *checker) compileTime(about subject, source any, unseen func(int) bool) {
	text, _ := source.(string)
	_, isTime := node.ParseTime(text)
	switch {
	case isTime:
	case node.IsDateLike(text):
		c.found.add(about, domain.BadFormat, "must be a time that exists, in ISO 8601, such as 2026-01-31T09:00:00Z")
	default:
		c.compileAs("a time in ISO 8601, such as 2026-01-31T09:00:00Z, or an expression that compiles", about, source, unseen, NodeScope())
	}
}

// compileEach checks the expression of a transform. Of one that goes over a list it may
// be an arrow function as well, which names its arguments itself.
func (c *checker) compileEach(about subject, source any, unseen func(int) bool, transformType string) {
	text, isText := source.(string)
	if goesOver := len(TransformScope(transformType)) > len(NodeScope()); isText && goesOver {
		if isFunction, named, err := c.env.Expressions.CheckFunction(text, NodeScope()...); isFunction {
			if err != nil {
				c.found.add(about, BadExpression, "must be a function that compiles: %s", err)
			}
			c.checkNamed(about, named, unseen)
			return
		}
	}
	c.compile(about, source, unseen, TransformScope(transformType))
}

// compileMapping checks every text of a mapping, however deep, as an expression.
func (c *checker) compileMapping(about subject, mapping any, unseen func(int) bool, roots []string) {
	object, isObject := mapping.(map[string]any)
	if !isObject {
		return
	}
	walkTexts(about, object, func(at subject, text string) { c.compile(at, text, unseen, roots) })
}

// template is a text of a configuration with expressions in it.
type template struct {
	about subject
	text  string
}

// templates finds the templates in the configuration of a node whose type permits
// them (execution rules, "Nodes").
func (c *checker) templates(about subject, s step) []template {
	if !s.kind.HasTemplates {
		return nil
	}
	var found []template
	walkTexts(about, s.config, func(at subject, text string) {
		if strings.Contains(text, "{{") {
			found = append(found, template{at, text})
		}
	})
	return found
}

// walkTexts visits every string within a JSON tree, members by name.
func walkTexts(about subject, value any, visit func(subject, string)) {
	switch v := value.(type) {
	case string:
		visit(about, v)
	case []any:
		for i, item := range v {
			walkTexts(about.item(i), item, visit)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walkTexts(about.member(name), v[name], visit)
		}
	}
}

// checkEdge checks one edge: its keys, what it carries and its condition.
func (c *checker) checkEdge(about subject, i int) {
	e, unseen := c.g.edges[i], never
	if source, target, ok := c.g.ends(i); ok {
		c.checkCarried(about, e, source, target)
		unseen = c.unseenByEdgesOf(source)
	}
	c.compile(about.member("condition"), e.Guard(), unseen, EdgeScope())
}

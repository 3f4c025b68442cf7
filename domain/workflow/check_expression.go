package workflow

import (
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/typing"
)

// site is where expressions stand: in a node, or on one of its edges.
type site struct {
	place  int // of the node
	roots  []Root
	facts  []typing.Fact
	unseen func(other int) bool // nodes of which nothing is seen there
}

// What a text must be, for messages.
const (
	wantExpression = "an expression that compiles"
	wantFunction   = "a function that compiles"
	wantTemplate   = "a template that compiles"
	wantTime       = "a time in ISO 8601, such as 2026-01-31T09:00:00Z, or an expression that compiles"
)

// checkExpressions compiles the expressions and templates in a configuration.
func (c *checker) checkExpressions(about subject, i int) {
	s := &c.steps[i]
	at := c.inside(i)
	c.checkOutputExpressions(about, s, at)
	switch s.kind.Type {
	case node.Return:
		return // what it gives is all there is
	case node.Switch:
		subject := c.compile(about.member("expression"), s.config["expression"], at)
		c.checkCaseTypes(about, s, subject.Type)
	case node.Code:
		s.readsInput, c.readsAnyNode = true, true // it may look at anything
		c.compileCode(about.member("source"), s.config["source"])
	case node.Wait:
		c.checkTime(about.member("until"), s.config["until"], at)
	case node.WaitForEvent:
		if event, _ := s.config["event"].(string); strings.Contains(event, "{{") {
			c.found.add(about.member("event"), domain.NotAllowed, "must be the name of an event itself: {{ expressions }} are not resolved here")
		}
	}
	rendered := c.checkTemplates(about, s, at)
	if s.kind.StartsRun {
		s.calls = s.memberOrInput("input", rendered)
	}
}

// typeOutput finds what a node gives, and what is certain behind it.
func (c *checker) typeOutput(i int) {
	if s := &c.steps[i]; s.known {
		c.checkOutputExpressions(nodeSubject(i, c.g.nodes[i]).member("config"), s, c.inside(i))
	}
}

// checkOutputExpressions compiles the expressions that say what the node gives, or what is certain behind it.
func (c *checker) checkOutputExpressions(about subject, s *step, at site) {
	if s.kind.RunsBody {
		s.item = c.checkItems(about.member("items"), s.config["items"], at)
	}
	switch s.kind.Type {
	case node.Condition:
		s.test = c.compile(about.member("condition"), s.config["condition"], at)
		c.checkConstant(about.member("condition"), s.test)
	case node.Transform:
		s.computes = c.checkTransform(about, s, at)
	case node.Return:
		s.computes = s.memberOrInput("value", c.checkTemplates(about, s, at))
	}
}

// checkTemplates checks the templates of a configuration, and returns what it is with what these
// give in their places.
func (c *checker) checkTemplates(about subject, s *step, at site) typing.Type {
	if !s.kind.HasTemplates {
		return typing.Any
	}
	return shaped(about, s.kind.Templated(s.config), func(where subject, text string) typing.Type {
		if !strings.Contains(text, "{{") {
			return typing.Value(text)
		}
		form := Template
		if s.kind.URLMember != "" && where.path == about.member(s.kind.URLMember).path {
			form = URLTemplate
		}
		checked := c.read(wantTemplate, where, Source{Text: text, Form: form}, at)
		if checked.Problem == "" {
			var r domain.Rules
			s.kind.CheckTemplate(&r, about.path, where.path, text)
			for _, v := range r.Violations() {
				c.found.add(where, v.Code, "%s", v.Message)
			}
		}
		return checked.Type
	})
}

// memberOrInput is what a node gets from a member of its configuration; what flows into it where
// there is no such member.
func (s *step) memberOrInput(name string, config typing.Type) typing.Type {
	if _, given := s.config[name]; !given {
		return s.in
	}
	member, _ := config.Member(name)
	return member
}

// read checks one source where it stands, and reports what is wrong with it.
func (c *checker) read(wanted string, about subject, s Source, at site) Checked {
	s.Roots, s.Facts = at.roots, at.facts
	if c.asked.note(c, about, s, at) {
		return Checked{}
	}
	checked := c.env.Expressions.Check(s)
	if checked.Problem != "" {
		if checked.IsFunction {
			wanted = wantFunction
		}
		c.found.addAt(about, checked.At, BadExpression, "must be %s: %s", wanted, checked.Problem)
		return checked
	}
	if c.quiet {
		return checked
	}
	c.noteUses(at.place, checked)
	c.checkNamed(about, checked.Named, at)
	for _, d := range checked.Doubts {
		list := &c.found
		if d.Warning {
			list = &c.warned
		}
		list.addAt(about, d.At, d.Code, "%s", "at "+d.At.String()+": "+d.Message)
	}
	return checked
}

// compile checks one expression. An absent, empty or mistyped one is reported by the
// configuration schema.
func (c *checker) compile(about subject, source any, at site) Checked {
	text, isText := source.(string)
	if !isText || text == "" {
		return Checked{}
	}
	return c.read(wantExpression, about, Source{Text: text}, at)
}

// compileCode checks the source of a code node.
func (c *checker) compileCode(about subject, source any) {
	text, isText := source.(string)
	if !isText || text == "" || c.env.CompileCode == nil {
		return
	}
	if problem, at := c.env.CompileCode(text); problem != "" {
		c.found.addAt(about, at, BadCode, "must be the body of a function that compiles: %s", problem)
	}
}

// checkTime checks a time, or an expression that gives one.
func (c *checker) checkTime(about subject, source any, at site) {
	text, _ := source.(string)
	_, isTime := node.ParseTime(text)
	switch {
	case isTime, text == "":
	case node.IsDateLike(text):
		c.found.add(about, domain.BadFormat, "must be a time that exists, in ISO 8601, such as 2026-01-31T09:00:00Z")
	default:
		gives := c.read(wantTime, about, Source{Text: text}, at).Type
		c.needs(about, gives, typing.String|typing.Number, "a time, as text in ISO 8601 or as milliseconds since 1970")
	}
}

// needs reports what an expression gives where that cannot be used, and warns where it may not.
func (c *checker) needs(about subject, gives typing.Type, kinds typing.Kind, wanted string) {
	switch {
	case gives.IsAny() || gives.Within(kinds):
	case gives.Kinds()&kinds == 0 && !gives.IsClaimed():
		c.found.add(about, ArgumentType, "must give %s; this is %s", wanted, gives)
	case gives.Within(kinds | typing.Nullish):
		c.warned.add(about, MaybeMissing, "must give %s, and may be missing, for this is %s; write ?? and what stands for it behind it", wanted, gives)
	default:
		c.warned.add(about, MaybeWrongType, "must give %s; this is %s", wanted, gives)
	}
}

// checkTransform checks what a transform computes, and returns what it gives.
func (c *checker) checkTransform(about subject, s *step, at site) typing.Type {
	kind, _ := s.config["transformType"].(string)
	if len(TransformScope(kind)) == len(NodeScope()) {
		c.compile(about.member("source"), s.config["source"], at)
		return c.computed(about, s, Expression, nil, at)
	}
	items := s.in
	if source, _ := s.config["source"].(string); source != "" {
		items = c.compile(about.member("source"), s.config["source"], at).Type
		c.needs(about.member("source"), items, typing.Array, "the array that the "+kind+" goes over")
	} else {
		c.needs(about.member("source"), items, typing.Array, "the array that the "+kind+" goes over, which is the node's input where there is no source")
	}
	item := itemOf(items)
	each := []Root{{Name: RootItem, Type: item}, {Name: RootIndex, Type: typing.Of(typing.Number)}}
	if kind == TransformReduce {
		each = slices.Insert(each, 0, Root{Name: RootAcc})
	}
	gives := c.computed(about, s, EachItem, each, at)
	switch kind {
	case TransformFilter:
		return typing.List(item)
	case TransformMap:
		return typing.List(gives)
	}
	if initial, given := s.config["initial"]; given {
		return gives.Or(typeOfJSON(initial))
	}
	return typing.Union(gives, item, typing.Of(typing.Null))
}

// computed checks the expression or the mapping of a transform, and returns what that gives.
func (c *checker) computed(about subject, s *step, form Form, each []Root, at site) typing.Type {
	if text, _ := s.config["expression"].(string); text != "" {
		return c.read(wantExpression, about.member("expression"), Source{Text: text, Form: form, Each: each}, at).Type
	}
	mapping, isObject := s.config["mapping"].(map[string]any)
	if !isObject {
		return typing.Any
	}
	at.roots = slices.Concat(at.roots, each)
	return shaped(about.member("mapping"), mapping, func(where subject, text string) typing.Type {
		if text == "" {
			return typing.Value(text)
		}
		return c.compile(where, text, at).Type
	})
}

// shaped is the type of a JSON tree in which what each text stands for has a type.
func shaped(about subject, value any, text func(subject, string) typing.Type) typing.Type {
	switch v := value.(type) {
	case string:
		return text(about, v)
	case []any:
		var items []typing.Type
		for i, item := range v {
			items = append(items, shaped(about.item(i), item, text))
		}
		return typing.List(typing.Union(items...))
	case map[string]any:
		made := typing.NewObject()
		for _, name := range slices.Sorted(maps.Keys(v)) {
			made.Set(name, shaped(about.member(name), v[name], text))
		}
		return made.Type()
	}
	return typeOfJSON(value)
}

// typeOfJSON is the type of a value that is written out.
func typeOfJSON(value any) typing.Type {
	switch value.(type) {
	case nil:
		return typing.Of(typing.Null)
	case string:
		return typing.Of(typing.String)
	case bool:
		return typing.Of(typing.Boolean)
	case []any:
		return typing.Of(typing.Array)
	case map[string]any:
		return typing.Of(typing.Object)
	}
	return typing.Of(typing.Number)
}

// template is a text of a configuration with expressions in it.
type template struct {
	about subject
	text  string
}

// templates finds the templates in the configuration of a node whose type permits them.
func (c *checker) templates(about subject, s step) []template {
	if !s.kind.HasTemplates {
		return nil
	}
	var found []template
	walkTexts(about, s.kind.Templated(s.config), func(at subject, text string) {
		if strings.Contains(text, "{{") {
			found = append(found, template{at, text})
		}
	})
	return found
}

// walkTexts visits every string within a JSON tree, members by name.
func walkTexts(about subject, value any, visit func(subject, string)) {
	walkNamed(about, "", value, func(at subject, _, text string) { visit(at, text) })
}

// checkEdge checks one edge: its keys, what it carries and its condition.
func (c *checker) checkEdge(about subject, i int) {
	if source, target, ok := c.g.ends(i); ok {
		c.checkCarried(about, c.g.edges[i], source, target)
	}
	c.guard(i)
}

// guard checks the condition of an edge, once.
func (c *checker) guard(i int) Checked {
	if checked, again := c.guards[i]; again {
		return checked
	}
	e := c.g.edges[i]
	if e.Guard() == "" {
		return Checked{}
	}
	about, at := edgeSubject(i, e).member("condition"), site{place: -1, roots: rootsOf(EdgeScope()), unseen: never}
	if source, _, ok := c.g.ends(i); ok {
		at = c.behind(source, e)
	}
	checked := c.compile(about, e.Guard(), at)
	c.checkConstant(about, checked)
	c.guards[i] = checked
	return checked
}

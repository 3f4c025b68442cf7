package expression

import "strings"

// Template is a compiled text with expressions between {{ and }}. It may be
// evaluated by many goroutines at once.
type Template struct {
	text   string
	limits Limits
	slots  int
	parts  []templatePart
	named  []named
	nodes  nodesRead
}

// templatePart is plain text or, where run is not nil, an expression.
type templatePart struct {
	plain   string
	run     eval
	at      int  // where the expression begins
	encoded bool // what it gives is encoded for a URL already
}

// CompileTemplate reads a text in which expressions may stand between {{ and }}
// (execution rules, "Nodes"). The limits on the source hold for the whole text.
// Two braces themselves are written {{ "{{" }}. The roots are those of [Compile].
// The error is a *[CompileError].
func CompileTemplate(text string, roots ...string) (*Template, error) {
	return Limits{}.CompileTemplate(text, roots...)
}

// CompileTemplate is the function [CompileTemplate] with other limits.
func (l Limits) CompileTemplate(text string, roots ...string) (*Template, error) {
	return compileTemplateWith(text, l.settings(roots))
}

func compileTemplateWith(text string, s settings) (*Template, error) {
	t := &Template{text: text, limits: s.limits}
	if !strings.Contains(text, "{{") {
		t.parts = []templatePart{{plain: text}}
		return t, nil
	}
	if f := checkLength(text, s.limits); f != nil {
		return nil, compileError(text, f)
	}
	c := &compiler{settings: s, text: text}
	at := 0
	for {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			break
		}
		from := at + open + 2
		end, f := scan(text, from, len(text), s.limits.Depth, true)
		if f != nil {
			c.faults = append(c.faults, f)
			break
		}
		if open > 0 {
			t.parts = append(t.parts, templatePart{plain: text[at : at+open]})
		}
		part := templatePart{at: from}
		if tree := c.tree(from, end); tree != nil {
			part.run, part.encoded = c.expr(tree), c.encodesItself(tree)
		}
		t.parts = append(t.parts, part)
		at = end + 2
	}
	if len(c.faults) > 0 {
		return nil, compileError(text, c.faults...)
	}
	if at < len(text) {
		t.parts = append(t.parts, templatePart{plain: text[at:]})
	}
	t.slots, t.named, t.nodes = c.slots, c.named, c.nodesRead()
	return t, nil
}

// compileURLTemplateWith compiles a template that gives a URL, in which no value may
// change what is written out of the scheme, the host and the port.
func compileURLTemplateWith(text string, s settings) (*Template, error) {
	t, err := compileTemplateWith(text, s)
	if err != nil {
		return nil, err
	}
	if f := t.checkURL(); f != nil {
		return nil, compileError(text, f)
	}
	return t, nil
}

// Evaluate computes the text. A text that is one {{ }} and nothing around it gives
// the expression's value, as [Program.Evaluate] does. Otherwise the values are
// joined to one string: null, undefined, booleans, numbers and strings by
// JavaScript's String, objects and arrays as JSON. The errors are those of
// [Program.Evaluate].
func (t *Template) Evaluate(env Env) (any, error) {
	if len(t.parts) == 1 && t.parts[0].run == nil {
		env.Meter.Add(evaluationSteps, evaluationBytes)
		return t.parts[0].plain, nil
	}
	return execute(t.text, t.limits, t.slots, &env, func(m *machine) any { return m.output(t.render(m)) })
}

func (t *Template) render(m *machine) any {
	if len(t.parts) == 1 {
		if part := t.parts[0]; part.run != nil {
			return part.run(m)
		}
		return t.parts[0].plain
	}
	b := text{m: m}
	for _, part := range t.parts {
		if part.run == nil {
			b.add(part.plain)
			continue
		}
		m.step()
		b.add(m.inText(part.run(m)))
	}
	return b.string()
}

// inText writes a value that stands within a text.
func (m *machine) inText(v any) string {
	if isObject(v) {
		return m.toJSON(v)
	}
	return m.text(v)
}

package expression

import (
	"strings"

	"github.com/sluicehq/sluice/adapters/expression/language"
)

// template is a text with expressions between {{ and }}.
type template struct{ parts []part }

// part is plain text or, where it has an Eval, an expression.
type part struct {
	plain string
	language.Embedded
}

func (p part) isPlain() bool { return p.Eval == nil }

// compileTemplate reads a text in which expressions may stand between {{ and }}.
// Two braces themselves are written {{ "{{" }}. The error is
// a *[language.CompileError].
func compileTemplate(text string, limits language.Limits, roots []string) (*language.Program, error) {
	embedding := limits.Embed(text, roots...)
	return embedding.Program(readTemplate(text, embedding).render)
}

// compileURLTemplate compiles a template that gives a URL, in which no value may change
// what is written out of the scheme, the host and the port.
func compileURLTemplate(text string, limits language.Limits, roots []string) (*language.Program, error) {
	embedding := limits.Embed(text, roots...)
	t := readTemplate(text, embedding)
	program, err := embedding.Program(t.renderURL)
	if err != nil {
		return nil, err
	}
	if at, wrong := t.checkURL(); wrong != "" {
		return nil, language.Refuse(text, at, language.CodeBadArgument, wrong)
	}
	return program, nil
}

func readTemplate(text string, embedding *language.Embedding) *template {
	t := &template{}
	at := 0
	for {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			break
		}
		x, end, ok := embedding.Compile(at + open + 2)
		if !ok {
			break
		}
		if open > 0 {
			t.parts = append(t.parts, part{plain: text[at : at+open]})
		}
		t.parts = append(t.parts, part{Embedded: x})
		at = end + 2
	}
	if at < len(text) || len(t.parts) == 0 {
		t.parts = append(t.parts, part{plain: text[at:]})
	}
	return t
}

// render computes the text. A text that is one {{ }} and nothing around it gives the
// expression's value. Otherwise the values are joined to one string, by
// [language.Machine.Text].
func (t *template) render(m *language.Machine) any {
	if len(t.parts) == 1 {
		if only := t.parts[0]; !only.isPlain() {
			return only.Eval(m)
		}
		return t.parts[0].plain
	}
	b := language.NewTextBuilder(m)
	for _, p := range t.parts {
		if p.isPlain() {
			b.Add(p.plain)
			continue
		}
		m.Step()
		b.Add(m.Text(p.Eval(m)))
	}
	return b.String()
}

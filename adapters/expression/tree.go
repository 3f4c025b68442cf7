package expression

import (
	"errors"
	"maps"
	"slices"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
)

// TemplateTree is a JSON tree whose strings are templates. It may be evaluated by
// many goroutines at once.
type TemplateTree struct {
	limits Limits
	slots  int
	root   eval
	nodes  nodesRead
}

// CompileTemplateTree reads every string within a JSON tree of map[string]any,
// []any and plain values as a template; names of members are none. A
// [run.URLTemplate] is a template that gives a URL. The error is a *[CompileError]
// whose problems carry the dotted path of their string, members in the order of their
// names. The roots are those of [Compile].
func CompileTemplateTree(tree any, roots ...string) (*TemplateTree, error) {
	return Limits{}.CompileTemplateTree(tree, roots...)
}

// CompileTemplateTree is the function [CompileTemplateTree] with other limits.
func (l Limits) CompileTemplateTree(tree any, roots ...string) (*TemplateTree, error) {
	s := l.settings(roots)
	t := &treeCompiler{settings: s}
	root := t.compile("", tree, s.limits.Depth)
	if len(t.problems) > 0 {
		return nil, &CompileError{Problems: t.problems}
	}
	return &TemplateTree{limits: s.limits, slots: t.slots, root: root, nodes: t.nodes}, nil
}

// Evaluate computes the tree with the value of each template in its place. The
// limits hold for the whole tree. A member whose template is one {{ }} that gives
// undefined is left out; as an element it is nil. The errors are those of
// [Program.Evaluate], with the path.
func (t *TemplateTree) Evaluate(env Env) (any, error) {
	return execute("", t.limits, t.slots, &env, func(m *machine) any {
		v := t.root(m)
		m.path = ""
		return m.output(v)
	})
}

type treeCompiler struct {
	settings settings
	slots    int
	problems []Problem
	nodes    nodesRead
}

// compile returns what computes the part of the tree at the path.
func (t *treeCompiler) compile(path string, part any, depth int) eval {
	if depth == 0 {
		t.problems = append(t.problems, Problem{Code: CodeTooDeep, Message: "must not be nested deeper", Path: path, Line: 1, Column: 1})
		return constant(nil)
	}
	switch part := part.(type) {
	case string:
		made, err := compileTemplateWith(part, t.settings)
		return t.template(path, made, err, (*Template).render)
	case run.URLTemplate:
		made, err := compileURLTemplateWith(string(part), t.settings)
		return t.template(path, made, err, (*Template).renderURL)
	case []any:
		return t.list(path, part, depth)
	case map[string]any:
		return t.members(path, part, depth)
	}
	return constant(part)
}

func (t *treeCompiler) template(path string, made *Template, err error, render func(*Template, *machine) any) eval {
	var failed *CompileError
	if errors.As(err, &failed) {
		for _, p := range failed.Problems {
			p.Path = path
			t.problems = append(t.problems, p)
		}
		return constant(nil)
	}
	t.slots, t.nodes = max(t.slots, made.slots), t.nodes.with(made.nodes)
	return func(m *machine) any {
		m.source, m.path = made.text, path
		return render(made, m)
	}
}

func (t *treeCompiler) list(path string, elems []any, depth int) eval {
	parts := make([]eval, len(elems))
	for i, e := range elems {
		parts[i] = t.compile(domain.Index(path, i), e, depth-1)
	}
	return func(m *machine) any {
		m.spend(1+len(parts)>>3, 40+16*len(parts))
		made := make([]any, len(parts))
		for i, part := range parts {
			made[i] = part(m)
		}
		return &array{elems: made}
	}
}

func (t *treeCompiler) members(path string, tree map[string]any, depth int) eval {
	names := slices.Sorted(maps.Keys(tree))
	parts := make([]eval, len(names))
	for i, name := range names {
		parts[i] = t.compile(domain.Member(path, name), tree[name], depth-1)
	}
	return func(m *machine) any {
		m.spend(1+max(0, len(parts)-fewKeys), 64)
		made := &object{}
		made.grow(len(parts))
		for i, part := range parts {
			m.work(len(names[i]))
			m.set(made, names[i], part(m))
		}
		return made
	}
}

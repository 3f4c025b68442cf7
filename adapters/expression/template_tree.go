package expression

import (
	"errors"
	"maps"
	"slices"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
)

// compileTree reads every string within a JSON tree of map[string]any, []any and plain
// values as a template; names of members are none. A [run.URLTemplate] is a template that
// gives a URL. The program computes the tree with the value of each template in its place,
// within one budget. A member whose template is one {{ }} that gives undefined is left out;
// as an element it is nil. The errors carry the dotted path of their string: when compiling
// a *[language.CompileError], members in the order of their names.
func compileTree(tree any, limits language.Limits, roots ...string) (*language.Program, error) {
	t := &treeCompiler{limits: limits.WithDefaults(), roots: roots}
	eval := t.compile("", tree, t.limits.Depth)
	if len(t.problems) > 0 {
		return nil, &language.CompileError{Problems: t.problems}
	}
	return limits.Join(eval, t.programs...), nil
}

type treeCompiler struct {
	limits   language.Limits
	roots    []string
	problems []language.Problem
	programs []*language.Program
}

// compile returns what computes the part of the tree at the path.
func (t *treeCompiler) compile(path string, tree any, depth int) language.Eval {
	if depth == 0 {
		t.problems = append(t.problems, language.Problem{Code: language.CodeTooDeep, Message: "must not be nested deeper", Path: path, Line: 1, Column: 1})
		return nil
	}
	switch tree := tree.(type) {
	case string:
		program, err := compileTemplate(tree, t.limits, t.roots)
		return t.template(path, program, err)
	case run.URLTemplate:
		program, err := compileURLTemplate(string(tree), t.limits, t.roots)
		return t.template(path, program, err)
	case []any:
		parts := make([]language.Eval, len(tree))
		for i, e := range tree {
			parts[i] = t.compile(domain.Index(path, i), e, depth-1)
		}
		return language.List(parts)
	case map[string]any:
		names := slices.Sorted(maps.Keys(tree))
		parts := make([]language.Eval, len(names))
		for i, name := range names {
			parts[i] = t.compile(domain.Member(path, name), tree[name], depth-1)
		}
		return language.Object(names, parts)
	}
	return language.Constant(tree)
}

// template takes what compiling the template at the path gave.
func (t *treeCompiler) template(path string, program *language.Program, err error) language.Eval {
	var failed *language.CompileError
	if errors.As(err, &failed) {
		for _, p := range failed.Problems {
			p.Path = path
			t.problems = append(t.problems, p)
		}
		return nil
	}
	t.programs = append(t.programs, program)
	return program.At(path)
}

package language

import (
	"github.com/dop251/goja/ast"

	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

// access finds the type of what reads out of a value.
func (x *inference) access(n ast.Expression) typing.Type {
	switch n := n.(type) {
	case *ast.DotExpression:
		return x.dot(n)
	case *ast.BracketExpression:
		return x.bracket(n)
	case *ast.CallExpression:
		return x.call(n)
	case *ast.Optional:
		t := x.expr(n.Expression)
		if t.IsAny() || t.Kinds()&typing.Nullish != 0 {
			x.broken = true
		}
		if present, some := t.Without(typing.Nullish); some {
			return present
		}
		return typing.Any // never comes here
	case *ast.OptionalChain:
		outer := x.broken
		x.broken = false
		t := x.expr(n.Expression)
		if x.broken {
			t = t.Or(typing.Of(typing.Undefined))
		}
		x.broken = outer
		return x.known(n, t)
	}
	return typing.Any
}

func (x *inference) dot(n *ast.DotExpression) typing.Type {
	name := n.Identifier.Name.String()
	if space, ok := n.Left.(*ast.Identifier); ok && x.builtIn(space.Name.String()) {
		if _, isSpace := namespaces[space.Name.String()]; isSpace {
			if x.cursor.at(name) {
				x.cursor.reached, x.cursor.space = true, space.Name.String()
			}
			return typing.Of(typing.Number) // constants; functions are no values
		}
	}
	of := x.expr(n.Left)
	if x.cursor.at(name) {
		x.reachMember(n.Left, of)
		return typing.Any
	}
	return x.known(n, x.member(n.Left, of, name, x.c.offset(n.Identifier.Idx)))
}

// builtIn tells whether a name means what is built in, hidden by nothing.
func (x *inference) builtIn(name string) bool {
	_, hidden := x.param(name)
	return !hidden && x.c.builtIn(name)
}

// member finds the type of a member that is read by a written name.
func (x *inference) member(left ast.Expression, of typing.Type, name string, at int) typing.Type {
	of = x.present(left, of, "read", name, at)
	if of.IsAny() {
		return typing.Any
	}
	member, rest := memberOf(of, name)
	switch rest {
	case typing.Closed:
		x.found(at, of.IsClaimed(), CodeUnknownMember, "%s has no member %q: it is %s%s", x.c.source(left), shortened(name), of, closest(name, of.MemberNames()))
		return typing.Any // of which nothing else is said
	case typing.Exact:
		x.found(at, true, CodeMaybeMissing, "%s has no member %q, so it is always undefined: it is %s%s", x.c.source(left), shortened(name), of, closest(name, of.MemberNames()))
	}
	return member
}

// memberOf is what values that are there have under a name; rest is as [typing.Type.Member] has it.
func memberOf(of typing.Type, name string) (member typing.Type, rest typing.Rest) {
	if of.Within(typing.Object) {
		return of.Member(name)
	}
	var parts []typing.Type
	if objects, some := of.Only(typing.Object); some {
		member, _ := objects.Member(name)
		parts = append(parts, member)
	}
	if lists, some := of.Only(typing.String | typing.Array); some {
		if name == "length" {
			parts = append(parts, typing.Of(typing.Number))
		} else if _, isIndex := arrayIndex(name); isIndex {
			parts = append(parts, itemOf(lists))
		} else {
			parts = append(parts, typing.Of(typing.Undefined))
		}
	}
	if _, some := of.Only(typing.Number | typing.Boolean); some {
		parts = append(parts, typing.Of(typing.Undefined))
	}
	if member = typing.Union(parts...); member.Within(typing.Undefined) {
		return member, typing.Exact
	}
	return member, typing.Open
}

// itemOf is what texts and arrays have at an index.
func itemOf(of typing.Type) typing.Type {
	item := typing.Of(typing.Undefined)
	if of.Kinds()&typing.String != 0 {
		item = item.Or(typing.Of(typing.String))
	}
	if of.Kinds()&typing.Array != 0 {
		item = item.Or(of.Items())
	}
	return item
}

// closest offers a name that differs in its case only, or by a letter or two.
func closest(name string, names []string) string {
	for _, other := range names {
		if workflow.Alike(name, other) {
			return "; did you mean " + other + "?"
		}
	}
	return ""
}

// present is a value that something is read out of, where it is there. What may be missing is
// found once for each path.
func (x *inference) present(n ast.Expression, t typing.Type, verb, name string, at int) typing.Type {
	x.blind = x.blind || t.IsAny()
	if t.IsAny() || t.Kinds()&typing.Nullish == 0 {
		return t
	}
	path := x.path(n)
	if path == "" || !x.seen[path] {
		x.seen[path] = path != ""
		if t.Within(typing.Nullish) {
			x.found(at, true, CodeMaybeMissing, "%s is always %s, so this cannot %s %q", x.c.source(n), t, verb, shortened(name))
		} else {
			x.found(at, true, CodeMaybeMissing, "%s may be missing, for it is %s; to %s %q write ?. before it", x.c.source(n), t, verb, shortened(name))
		}
	}
	if left, some := t.Without(typing.Nullish); some {
		return left
	}
	return typing.Any
}

func (x *inference) bracket(n *ast.BracketExpression) typing.Type {
	of := x.expr(n.Left)
	if name, plain := x.c.plainKey(n.Member); plain {
		if x.cursor.at(name) {
			x.reachMember(n.Left, of)
			return typing.Any
		}
		return x.known(n, x.member(n.Left, of, name, x.c.offset(n.Member.Idx0())))
	}
	key := x.expr(n.Member)
	of = x.present(n.Left, of, "read", "…", x.c.offset(n.LeftBracket))
	if of.Within(typing.String|typing.Array) && key.Within(typing.Number) {
		return itemOf(of)
	}
	return typing.Any
}

func (x *inference) call(n *ast.CallExpression) typing.Type {
	switch callee := n.Callee.(type) {
	case *ast.ArrowFunctionLiteral:
		arguments := x.arguments(n.ArgumentList)
		return x.arrow(callee, func(i int) typing.Type { return argumentType(arguments, i) })
	case *ast.Identifier:
		if name := callee.Name.String(); x.builtIn(name) && functions[name] != nil {
			x.arguments(n.ArgumentList)
			return functionTypes[name]
		}
		x.identifier(callee)
	case *ast.DotExpression:
		if space, ok := callee.Left.(*ast.Identifier); ok && x.builtIn(space.Name.String()) {
			if _, isSpace := namespaces[space.Name.String()]; isSpace {
				return x.callMember(n, space.Name.String(), callee.Identifier.Name.String())
			}
		}
		return x.callMethod(n, callee)
	}
	x.arguments(n.ArgumentList)
	return typing.Any
}

// arguments finds the types of arguments; nil where one is spread, so that their places are
// not known.
func (x *inference) arguments(list []ast.Expression) []typing.Type {
	found := make([]typing.Type, len(list))
	spread := false
	for i, e := range list {
		if _, isArrow := e.(*ast.ArrowFunctionLiteral); isArrow {
			found[i] = x.arrow(e.(*ast.ArrowFunctionLiteral), nil)
			continue
		}
		found[i] = x.element(e)
		if _, isSpread := e.(*ast.SpreadElement); isSpread {
			spread = true
		}
	}
	if spread {
		return nil
	}
	return found
}

// argumentType is the type of an argument; any where that is not known.
func argumentType(arguments []typing.Type, i int) typing.Type {
	switch {
	case arguments == nil:
		return typing.Any
	case i < len(arguments):
		return arguments[i]
	}
	return typing.Of(typing.Undefined)
}

// arrow finds the type of what an arrow function gives for arguments; nil for any.
func (x *inference) arrow(n *ast.ArrowFunctionLiteral, argument func(i int) typing.Type) typing.Type {
	if argument == nil {
		argument = func(int) typing.Type { return typing.Any }
	}
	body, ok := n.Body.(*ast.ExpressionBody)
	if !ok {
		return typing.Any
	}
	firsts := x.firsts
	x.firsts = nil
	x.params = append(x.params, map[string]param{})
	defer func() { x.params = x.params[:len(x.params)-1] }()
	for i, p := range n.ParameterList.List {
		x.bind(p.Target, p.Initializer, argument(i))
		if name, isName := p.Target.(*ast.Identifier); isName && i < len(firsts) {
			bound := x.params[len(x.params)-1][name.Name.String()]
			bound.first = firsts[i]
			x.params[len(x.params)-1][name.Name.String()] = bound
		}
	}
	if n.ParameterList.Rest != nil {
		x.bind(n.ParameterList.Rest, nil, typing.Of(typing.Array))
	}
	return x.expr(body.Expression)
}

// bind gives the parts of a value to parameters.
func (x *inference) bind(target, initializer ast.Expression, t typing.Type) {
	if initializer != nil {
		standard := x.expr(initializer)
		if given, some := t.Without(typing.Undefined); some {
			standard = given.Or(standard)
		}
		t = standard
	}
	switch target := target.(type) {
	case *ast.Identifier:
		x.count++
		name := target.Name.String()
		x.params[len(x.params)-1][name] = param{path: name + "#" + formatNumber(float64(x.count)), kind: t}
	case *ast.AssignExpression:
		x.bind(target.Left, target.Right, t)
	case *ast.ArrayPattern:
		x.bindArray(target, t)
	case *ast.ObjectPattern:
		x.bindObject(target, t)
	}
}

func (x *inference) bindArray(p *ast.ArrayPattern, t typing.Type) {
	item := x.iterated(p, t)
	for _, e := range p.Elements {
		if e != nil {
			x.bind(e, nil, item.Or(typing.Of(typing.Undefined)))
		}
	}
	if p.Rest != nil {
		x.bind(p.Rest, nil, typing.List(item))
	}
}

func (x *inference) bindObject(p *ast.ObjectPattern, t typing.Type) {
	t = x.present(p, t, "read", "its members", x.c.offset(p.LeftBrace))
	for _, property := range p.Properties {
		switch property := property.(type) {
		case *ast.PropertyShort:
			x.bind(&property.Name, property.Initializer, x.member(p, t, property.Name.Name.String(), x.c.offset(property.Name.Idx)))
		case *ast.PropertyKeyed:
			member := typing.Any
			if name, plain := x.c.plainKey(property.Key); plain && !property.Computed {
				member = x.member(p, t, name, x.c.offset(property.Key.Idx0()))
			} else {
				x.expr(property.Key)
			}
			x.bind(property.Value, nil, member)
		}
	}
	if p.Rest != nil {
		x.bind(p.Rest, nil, typing.Of(typing.Object))
	}
}

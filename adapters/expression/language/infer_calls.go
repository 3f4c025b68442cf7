package language

import (
	"github.com/dop251/goja/ast"

	"github.com/sluicehq/sluice/domain/typing"
)

// functionTypes are what the built-in functions give.
var functionTypes = map[string]typing.Type{
	"now": typing.Of(typing.Number), "link": typing.Of(typing.String), "Number": typing.Of(typing.Number), "String": typing.Of(typing.String), "Boolean": typing.Of(typing.Boolean),
	"parseInt": typing.Of(typing.Number), "parseFloat": typing.Of(typing.Number), "isNaN": typing.Of(typing.Boolean), "isFinite": typing.Of(typing.Boolean),
	"encodeURI": typing.Of(typing.String), "encodeURIComponent": typing.Of(typing.String),
}

// callMember finds the type of what a member of Math, JSON, Object, Number or Array gives.
func (x *inference) callMember(n *ast.CallExpression, space, name string) typing.Type {
	if x.cursor.at(name) {
		x.cursor.reached, x.cursor.space = true, space
	}
	arguments := x.arguments(n.ArgumentList)
	first := argumentType(arguments, 0)
	if arguments == nil || len(n.ArgumentList) == 0 {
		first = typing.Any
	}
	switch space {
	case "Math":
		return typing.Of(typing.Number)
	case "Array":
		return typing.Of(typing.Boolean)
	case "Number":
		if name == "parseFloat" || name == "parseInt" {
			return typing.Of(typing.Number)
		}
		return typing.Of(typing.Boolean)
	case "JSON":
		if name == "stringify" {
			if first.IsAny() || first.Kinds()&typing.Undefined != 0 {
				return typing.Of(typing.String | typing.Undefined)
			}
			return typing.Of(typing.String)
		}
		if !first.IsAny() {
			x.need(n.ArgumentList[0], first, typing.All&^typing.Object&^typing.Undefined, "JSON.parse takes a text")
		}
		return typing.Any
	}
	return x.callObject(n, name, first, arguments)
}

func (x *inference) callObject(n *ast.CallExpression, name string, first typing.Type, arguments []typing.Type) typing.Type {
	need := func(kinds typing.Kind, wanted string) {
		if !first.IsAny() {
			x.need(n.ArgumentList[0], first, kinds, wanted)
		}
	}
	switch name {
	case "fromEntries":
		need(typing.Array|typing.String, "Object.fromEntries takes an array of [key, value]")
		return typing.Of(typing.Object)
	case "assign":
		need(typing.Object, "Object.assign takes an object first")
		made := typing.NewObject()
		for _, t := range arguments {
			x.spread(made, t)
		}
		if arguments == nil {
			made.Blur()
		}
		return made.Type()
	case "hasOwn":
		need(typing.All&^typing.Nullish, "Object.hasOwn takes an object")
		return typing.Of(typing.Boolean)
	}
	need(typing.All&^typing.Nullish, "Object."+name+" takes an object")
	switch name {
	case "keys":
		return typing.List(typing.Of(typing.String))
	case "entries":
		return typing.List(typing.Of(typing.Array))
	}
	return typing.Of(typing.Array)
}

// kinds are the kinds of values that have the method.
func (d *method) kinds() typing.Kind {
	if d.other != nil {
		return typing.All &^ typing.Nullish
	}
	var kinds typing.Kind
	if d.text != nil {
		kinds |= typing.String
	}
	if d.list != nil || d.each != nil {
		kinds |= typing.Array
	}
	if d.number != nil {
		kinds |= typing.Number
	}
	return kinds
}

func (x *inference) callMethod(n *ast.CallExpression, callee *ast.DotExpression) typing.Type {
	name, at := callee.Identifier.Name.String(), x.c.offset(callee.Identifier.Idx)
	of := x.expr(callee.Left)
	if x.cursor.at(name) {
		x.reachMember(callee.Left, of)
	}
	known := methods[name]
	if known == nil {
		x.arguments(n.ArgumentList)
		return typing.Any
	}
	of = x.present(callee.Left, of, "call", name, at)
	switch has := known.kinds(); {
	case of.IsAny() || of.Within(has):
	case of.Kinds()&has == 0:
		x.found(at, of.IsClaimed(), CodeNoFunction, "%s is %s, which has no method %s", x.c.source(callee.Left), of, name)
	default:
		x.found(at, true, CodeMaybeMisfit, "%s is %s, of which not all have a method %s", x.c.source(callee.Left), of, name)
	}
	if known.each != nil {
		return x.callEach(n, callee.Left, name, of)
	}
	arguments := x.arguments(n.ArgumentList)
	if t, ok := methodTypes[name]; ok {
		return t
	}
	return listMethodType(name, of, arguments)
}

// methodTypes are what methods give whatever they are called on.
var methodTypes = map[string]typing.Type{
	"charAt": typing.Of(typing.String), "charCodeAt": typing.Of(typing.Number), "codePointAt": typing.Of(typing.Number | typing.Undefined),
	"endsWith": typing.Of(typing.Boolean), "includes": typing.Of(typing.Boolean), "startsWith": typing.Of(typing.Boolean),
	"indexOf": typing.Of(typing.Number), "lastIndexOf": typing.Of(typing.Number), "join": typing.Of(typing.String),
	"padEnd": typing.Of(typing.String), "padStart": typing.Of(typing.String), "repeat": typing.Of(typing.String),
	"replace": typing.Of(typing.String), "replaceAll": typing.Of(typing.String), "split": typing.List(typing.Of(typing.String)),
	"substring": typing.Of(typing.String), "toFixed": typing.Of(typing.String), "toLowerCase": typing.Of(typing.String),
	"toString": typing.Of(typing.String), "toUpperCase": typing.Of(typing.String), "trim": typing.Of(typing.String),
	"trimEnd": typing.Of(typing.String), "trimStart": typing.Of(typing.String), "hasOwnProperty": typing.Of(typing.Boolean),
	"flat": typing.Of(typing.Array),
}

// listMethodType is what the methods give that depends on what they are called on.
func listMethodType(name string, of typing.Type, arguments []typing.Type) typing.Type {
	isText, isList := of.Within(typing.String), of.Within(typing.Array)
	switch {
	case !isText && !isList:
		return typing.Any
	case name == "at":
		return itemOf(of)
	case name == "concat" && isList:
		items := of.Items()
		for i := range arguments {
			if more := arguments[i]; more.Within(typing.Array) {
				items = items.Or(more.Items())
			} else if more.Kinds()&typing.Array == 0 {
				items = items.Or(more)
			} else {
				items = typing.Any
			}
		}
		if arguments == nil {
			items = typing.Any
		}
		return typing.List(items)
	case isText:
		return typing.Of(typing.String)
	}
	return of // slice, reverse
}

// callEach finds the type of what a method gives that calls a function for each element.
func (x *inference) callEach(n *ast.CallExpression, on ast.Expression, name string, of typing.Type) typing.Type {
	items := typing.Any
	if of.Within(typing.Array) {
		items = of.Items()
	}
	list := n.ArgumentList
	if len(list) == 0 {
		return of
	}
	if name == "reduce" || name == "reduceRight" {
		return x.reduce(list, items, of)
	}
	gives := typing.Any
	if f, isName := list[0].(*ast.Identifier); isName && x.builtIn(f.Name.String()) {
		gives = functionTypes[f.Name.String()]
		if present, some := items.Without(typing.Nullish); name == "filter" && f.Name.String() == "Boolean" && some {
			items = present
		}
	}
	if f, isArrow := list[0].(*ast.ArrowFunctionLiteral); isArrow {
		second := typing.Of(typing.Number)
		if name == "sort" || name == "toSorted" {
			second = items
		}
		x.firsts = x.firstOf(on)
		gives = x.arrow(f, func(i int) typing.Type {
			switch i {
			case 0:
				return items
			case 1:
				return second
			case 2:
				return of
			}
			return typing.Of(typing.Undefined)
		})
	}
	x.arguments(list[1:])
	switch name {
	case "map":
		return typing.List(gives)
	case "filter", "sort", "toSorted":
		return typing.List(items)
	case "find", "findLast":
		return items.Or(typing.Of(typing.Undefined))
	case "findIndex", "findLastIndex":
		return typing.Of(typing.Number)
	case "some", "every":
		return typing.Of(typing.Boolean)
	}
	return typing.Of(typing.Array) // flatMap
}

// reduce finds the type of what is gathered: of that, nothing is known within the function.
func (x *inference) reduce(list []ast.Expression, items, of typing.Type) typing.Type {
	rest := x.arguments(list[1:])
	start := items
	if len(rest) > 0 {
		start = rest[0]
	}
	f, isArrow := list[0].(*ast.ArrowFunctionLiteral)
	if !isArrow {
		return typing.Any
	}
	gives := x.arrow(f, func(i int) typing.Type {
		switch i {
		case 1:
			return items
		case 2:
			return typing.Of(typing.Number)
		case 3:
			return of
		}
		return typing.Any
	})
	if rest == nil {
		return typing.Any
	}
	return start.Or(gives)
}

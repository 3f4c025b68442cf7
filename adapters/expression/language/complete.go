package language

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"

	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

// cursor finds what could stand at a place of a source, where a marker stands instead.
type cursor struct {
	marker  string
	reached bool
	of      *typing.Type     // what a member is read of
	left    string           // the expression that gives that, as it can be computed by itself; empty where it cannot
	space   string           // whose member is read
	names   []workflow.Offer // what an expression may begin with there, besides what is built in
	wanted  typing.Type      // what it is compared with
}

func (c *cursor) at(name string) bool { return c != nil && name == c.marker }

// Complete finds what could stand at a byte of text[from:end], which somebody is writing. It need
// not be an expression yet: what stands at the place is read with as much around it as can be.
// Of the source only the roots, facts and arguments are looked at.
func (l Limits) Complete(text string, from, end, at int, s workflow.Source) workflow.Offers {
	l = l.WithDefaults()
	found := workflow.Offers{From: at, To: at}
	w, open := spotIn(text, from, end, at, l.Depth)
	if !open || end-from > l.Source {
		return found
	}
	found.From, found.To = w.from, w.to
	marker := "cursor"
	for strings.Contains(text, marker) {
		marker += "_"
	}
	for _, before := range w.beginnings() {
		for i, after := range w.endings(before, text[w.to:end]) {
			if x := l.cursorIn(text[before:w.from]+w.quoted(marker)+after, marker, s); x != nil {
				if i > 0 && w.quote != 0 {
					found.To = at // what closes the text in quotes belongs to another one
				}
				found.Of = x.left
				found.List = x.offers(&w, s.Seen)
				return found
			}
		}
	}
	return found
}

// cursorIn reads a source that holds a marker; nil where it is none, or the marker stands where
// no value does.
func (l Limits) cursorIn(source, marker string, s workflow.Source) *cursor {
	roots := append(slices.Clone(s.Roots), s.Each...)
	c := l.compiler(source, names(roots))
	if c.precheck() != nil {
		return nil
	}
	tree := c.tree(0, len(source))
	if tree == nil {
		return nil
	}
	x := newInference(c, roots, s.Facts)
	x.cursor = &cursor{marker: marker}
	if f, isArrow := tree.(*ast.ArrowFunctionLiteral); isArrow {
		x.firsts = names(s.Each)
		if c.arrow(f); !c.tooDeep {
			x.arrow(f, func(i int) typing.Type { return argumentOf(s.Each, i) })
		}
	} else if c.expr(tree); !c.tooDeep {
		x.expr(tree)
	}
	if !x.cursor.reached {
		return nil
	}
	return x.cursor
}

// argumentOf is the type of an argument of a function that gets those.
func argumentOf(each []workflow.Root, i int) typing.Type {
	if i < len(each) {
		return each[i].Type
	}
	return typing.Any
}

// reachName notes that a name is due, among those that are known there.
func (x *inference) reachName() {
	x.cursor.reached = true
	seen := map[string]bool{}
	add := func(name string, kind workflow.OfferKind, t typing.Type) {
		if !seen[name] {
			seen[name] = true
			x.cursor.names = append(x.cursor.names, workflow.Offer{Name: name, Kind: kind, Type: t, About: t.Description()})
		}
	}
	for _, scope := range slices.Backward(x.params) {
		for _, name := range sortedNames(scope) {
			add(name, workflow.OfferParameter, scope[name].kind)
		}
	}
	for _, name := range x.c.roots {
		add(name, workflow.OfferVariable, x.known(&ast.Identifier{Name: unistring.NewFromString(name)}, x.roots[name].Type))
	}
}

// reachMember notes that a member is due of what an expression gives.
func (x *inference) reachMember(left ast.Expression, of typing.Type) {
	x.cursor.reached, x.cursor.of, x.cursor.left = true, &of, x.alone(left)
}

// compared notes what the place is compared with.
func (x *inference) compared(side ast.Expression, with typing.Type) {
	if x.cursor == nil {
		return
	}
	switch n := side.(type) {
	case *ast.Identifier:
		if !x.cursor.at(n.Name.String()) {
			return
		}
	case *ast.StringLiteral:
		if !x.cursor.at(n.Value.String()) {
			return
		}
	default:
		return
	}
	x.cursor.reached, x.cursor.wanted = true, with
}

// alone writes an expression so that it can be computed by itself: the parameter that it begins
// with as what that stands for first. Empty where it depends on others.
func (x *inference) alone(n ast.Expression) string {
	from, to := x.c.offset(n.Idx0()), x.c.offset(n.Idx1())
	if from < 0 || to > len(x.c.text) || from >= to {
		return ""
	}
	text := x.c.text[from:to]
	for strings.Count(text, ")") > strings.Count(text, "(") { // parentheses are no part of the tree
		from = strings.LastIndexByte(x.c.text[:from], '(')
		if from < 0 {
			return ""
		}
		text = x.c.text[from:to]
	}
	first, rest := "", text
	name := text[:nameLength(text)]
	if p, isParam := x.param(name); isParam {
		if p.first == "" {
			return ""
		}
		first, rest = p.first, text[len(name):]
	}
	for _, scope := range x.params {
		for name := range scope {
			if holdsName(rest, name) {
				return ""
			}
		}
	}
	return first + rest
}

// firstOf writes what a function is called with first for the elements that an expression gives.
func (x *inference) firstOf(list ast.Expression) []string {
	if x.cursor != nil {
		if text := x.alone(list); text != "" {
			return []string{"(" + text + ")[0]"}
		}
	}
	return nil
}

// nameLength is how long the name is that a text begins with.
func nameLength(text string) int {
	for i, r := range text {
		if !isNameRune(r) {
			return i
		}
	}
	return len(text)
}

// holdsName says whether a name stands in a text, as a member's or not.
func holdsName(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if !isNameRune(before) && !isNameRune(after) {
			return true
		}
		at += len(name)
	}
}

// offers lists what could stand at the place.
func (c *cursor) offers(w *spot, seen typing.Type) []workflow.Offer {
	var all []workflow.Offer
	switch {
	case c.of != nil:
		all = w.membersOf(*c.of, seen)
	case c.space != "":
		all = w.membersOfSpace(c.space)
	default:
		if values, listed := c.wanted.Values(); listed {
			for _, v := range values {
				all = append(all, w.value(v))
			}
		}
		if w.quote == 0 {
			all = append(append(all, c.names...), builtInOffers...)
		}
	}
	for i := range all {
		o := &all[i]
		o.Insert, o.From = cmp.Or(o.Insert, o.Name), cmp.Or(o.From, w.from)
	}
	return all
}

func (w *spot) value(v any) workflow.Offer {
	text, isText := v.(string)
	name := typing.Value(v).String()
	if isText {
		m := Machine{memory: 8*len(text) + 64, steps: len(text) + 64}
		name = m.toJSON(text)
		if plain := name[1 : len(name)-1]; w.quote == '\'' && plain == text && !strings.Contains(text, "'") {
			return workflow.Offer{Name: name, Insert: "'" + text + "'", Kind: workflow.OfferValue, Type: typing.Of(typing.String)}
		}
	}
	t := typing.Value(v)
	return workflow.Offer{Name: name, Kind: workflow.OfferValue, Type: typing.Of(t.Kinds())}
}

// membersOf offers the members of values that are there, those that were seen besides, and what
// can be called on them.
func (w *spot) membersOf(of, seen typing.Type) []workflow.Offer {
	var all []workflow.Offer
	known := map[string]bool{}
	add := func(t typing.Type) {
		if objects, some := t.Only(typing.Object); some {
			for _, name := range objects.MemberNames() {
				if member, _ := objects.Member(name); !known[name] {
					known[name] = true
					all = append(all, w.member(name, member))
				}
			}
		}
	}
	add(of)
	if of.MayHoldMore() {
		add(seen)
	}
	if of.IsAny() {
		of = seen
	}
	if w.quote != 0 {
		return all
	}
	if of.Kinds()&(typing.String|typing.Array) != 0 {
		all = append(all, described(".length", workflow.OfferMember, typing.Of(typing.Number)))
	}
	for _, name := range sortedNames(methods) {
		if methods[name].kinds()&of.Kinds() != 0 {
			all = append(all, described("."+name, workflow.OfferMethod, typing.Any))
		}
	}
	return all
}

// member offers a member, in brackets where its name cannot stand behind a dot.
func (w *spot) member(name string, t typing.Type) workflow.Offer {
	o := workflow.Offer{Name: name, Kind: workflow.OfferMember, Type: t, About: t.Description()}
	switch {
	case w.quote != 0:
		o.Insert = w.value(name).Insert
		if o.Insert == "" {
			o.Insert = w.value(name).Name
		}
	case nameLength(name) != len(name) || name == "" || name[0] >= '0' && name[0] <= '9':
		o.Insert, o.From = "["+w.value(name).Name+"]", w.dot
	}
	return o
}

func (w *spot) membersOfSpace(space string) []workflow.Offer {
	var all []workflow.Offer
	for _, name := range sortedNames(namespaces[space].functions) {
		all = append(all, described(space+"."+name, workflow.OfferFunction, typing.Any))
	}
	for _, name := range sortedNames(namespaces[space].constants) {
		all = append(all, described(space+"."+name, workflow.OfferConstant, typing.Of(typing.Number)))
	}
	return all
}

// described offers what is built in, under the last part of its name.
func described(of string, kind workflow.OfferKind, t typing.Type) workflow.Offer {
	o := workflow.Offer{Name: of[strings.LastIndexByte(of, '.')+1:], Kind: kind, Type: t, About: descriptions[of].about}
	if kind == workflow.OfferFunction || kind == workflow.OfferMethod {
		o.Signature = descriptions[of].signature
	}
	return o
}

// builtInOffers are what an expression may begin with besides its roots.
var builtInOffers = func() []workflow.Offer {
	var all []workflow.Offer
	for _, name := range sortedNames(functions) {
		all = append(all, described(name, workflow.OfferFunction, typing.Any))
	}
	for _, name := range sortedNames(namespaces) {
		if _, isFunction := functions[name]; !isFunction {
			all = append(all, described(name, workflow.OfferNamespace, typing.Any))
		}
	}
	for _, name := range sortedNames(constants) {
		t := typing.Of(typing.Number)
		if name == "undefined" {
			t = typing.Of(typing.Undefined)
		}
		all = append(all, described(name, workflow.OfferConstant, t))
	}
	return all
}()

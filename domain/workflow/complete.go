package workflow

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/typing"
)

// Bounds of a [CompletionCall], in characters, and of what is offered.
const (
	MaxCompletionField = 1000
	MaxCompletionText  = MaxExpression
	MaxOffers          = 1000
)

// CompletionCall asks what could stand at a place of a text that somebody is writing.
type CompletionCall struct {
	Malformed []domain.Violation
	Node      NodeID // in which the text stands
	Edge      EdgeID // or on which
	Field     string // the path of the text within the node or the edge, such as config.condition
	Text      string // which need not be what the version has there, or compile
	At        *Place // nil for the end of the text
}

// Completion is a text that somebody is writing, with what is known where it stands.
type Completion struct {
	Node    NodeID // in which it stands, or which its edge leaves
	OnEdge  bool
	Source  Source
	Checked Checked // the type that it gives; of any text that is no expression, text

	at          int
	plain       bool // there is no expression in it
	titles      map[string]string
	expressions Expressions
}

const completionInvalid, completionInvalidMessage = "completion_invalid", "What is to be completed is not valid."

// Complete finds what is known where somebody is writing. The text takes the place of the one
// that the graph has there. The error, Invalid with the code completion_invalid, says what is
// wrong with the call: nothing of the version has the id, or the field holds no expressions.
func Complete(g Graph, env Environment, call CompletionCall) (Completion, error) {
	var r domain.Rules
	r.Add(call.Malformed...)
	r.Check(call.Node == "" || call.Edge == "", "edgeId", domain.Conflicting, "must not be given together with nodeId: the text is in one of them")
	r.Check(call.Node != "" || call.Edge != "" || r.Broken("nodeId") || r.Broken("edgeId"), "nodeId", domain.Required, "must be given, or edgeId: in what the text stands")
	r.Text(call.Field, "field", 1, MaxCompletionField)
	r.Text(call.Text, "text", 0, MaxCompletionText)
	at, inText := len(call.Text), true
	if call.At != nil {
		at, inText = call.At.in(call.Text)
	}
	r.Check(inText, "position", domain.NotAllowed, "must be a place of the text, line and column of which count from 1")
	if err := r.Err(completionInvalid, completionInvalidMessage); err != nil {
		return Completion{}, err
	}
	i, edge, path, exists := call.place(g)
	if !exists {
		field, what := "nodeId", "a node"
		if call.Edge != "" {
			field, what = "edgeId", "an edge"
		}
		r.Check(false, field, domain.Unknown, "must be the id of %s of this version", what)
		return Completion{}, r.Err(completionInvalid, completionInvalidMessage)
	}
	found := Completion{Node: call.Node, OnEdge: call.Edge != "", at: at, expressions: env.Expressions}
	if found.OnEdge {
		found.Node = g.nodes[i].ID
	}
	env.CompileCode = nil
	for _, text := range []string{call.Text, "{{"} { // which tells whether expressions can stand there
		if s := readAt(call.written(g, i, edge, text), env, path, i, edge, text == call.Text); s.found {
			if found.plain = text != call.Text; found.plain {
				found.Checked = Checked{Type: typing.Of(typing.String)}
				return found, nil
			}
			s.source.Text = call.Text
			found.Source, found.titles = s.source, s.titles
			found.Checked = env.Expressions.Check(found.Source)
			return found, nil
		}
	}
	r.Check(false, "field", domain.NotAllowed, "must be the path of a text that holds an expression, or a template, such as config.condition; %s is none", quote(call.Field))
	return Completion{}, r.Err(completionInvalid, completionInvalidMessage)
}

// place finds the node, or the edge and the node that it leaves, and the path of the text as
// findings have it. The edge is negative for none.
func (c CompletionCall) place(g Graph) (node, edge int, path string, exists bool) {
	if c.Edge == "" {
		node, exists = g.index[c.Node]
		return node, -1, domain.Member(domain.Index("nodes", node), c.Field), exists
	}
	edge = slices.IndexFunc(g.edges, func(e Edge) bool { return e.ID == c.Edge })
	if edge >= 0 {
		node, exists = g.index[g.edges[edge].SourceNodeID]
	}
	return node, edge, domain.Member(domain.Index("edges", edge), c.Field), exists
}

// Calls lists the workflows that tell what is known there.
func (c CompletionCall) Calls(g Graph) []ID {
	node, edge, _, exists := c.place(g)
	if !exists {
		return nil
	}
	relevant := g.typedFrom(node, edge >= 0)
	relevant[node] = true
	return g.callsOf(relevant)
}

// written is the graph with a text where somebody is writing one. An empty one would count as
// absent.
func (c CompletionCall) written(g Graph, i, edge int, text string) Graph {
	if text == "" {
		text = " "
	}
	if edge >= 0 {
		edges := slices.Clone(g.edges)
		if text = strings.TrimSpace(text); text == "" {
			text = RootResult
		}
		edges[edge].Condition = &text
		return RestoreGraph(g.nodes, edges)
	}
	nodes := slices.Clone(g.nodes)
	config, _ := object(nodes[i].Config)
	within, isConfig := strings.CutPrefix(c.Field, "config")
	if !isConfig {
		return g
	}
	if document, err := json.Marshal(put(config, within, text)); err == nil {
		nodes[i].Config = domain.RestoreDocument(string(document))
	}
	return RestoreGraph(nodes, g.edges)
}

// pathStep is a member or an element at the beginning of a path.
var pathStep = regexp.MustCompile(`^(?:\.([^.\[]+)|\[(\d{1,4})\])`)

// put returns a JSON tree with a text at a path such as .mapping.total or .cases[0].value, which
// is made where it is not there.
func put(tree any, path, text string) any {
	if path == "" {
		return text
	}
	if members, isObject := tree.(map[string]any); isObject && path[0] == '.' {
		for name := range members { // whose name may hold dots itself
			rest, found := strings.CutPrefix(path[1:], name)
			if found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				members[name] = put(members[name], rest, text)
				return members
			}
		}
	}
	found := pathStep.FindStringSubmatch(path)
	if found == nil {
		return tree
	}
	rest := path[len(found[0]):]
	if found[2] == "" {
		members, _ := tree.(map[string]any)
		if members == nil {
			members = map[string]any{}
		}
		members[found[1]] = put(members[found[1]], rest, text)
		return members
	}
	list, _ := tree.([]any)
	if at, _ := strconv.Atoi(found[2]); at < len(list) {
		list[at] = put(list[at], rest, text)
		return list
	}
	return append(list, put(nil, rest, text))
}

// askedSource is a source that a check came by.
type askedSource struct {
	path   string
	found  bool
	source Source
	titles map[string]string // of the nodes that can be seen there, by their ids
}

// readAt looks for a text of a node, or of an edge that leaves it, and for what is known where it
// is read: of the graph only what leads there is looked at, and nothing where types are not asked
// for.
func readAt(g Graph, env Environment, path string, place, edge int, typed bool) *askedSource {
	c := newChecker(g, env)
	c.asked, c.quiet = &askedSource{path: path}, true
	wanted := make([]bool, len(g.nodes))
	if typed {
		wanted = g.typedFrom(place, edge >= 0)
	}
	wanted[place] = true
	for i, w := range wanted {
		if w {
			c.steps[i] = c.prepare(nodeSubject(i, g.nodes[i]), g.nodes[i])
		}
	}
	c.visitAll(wanted, func(i int) {
		switch {
		case i != place || edge >= 0:
			c.typeOutput(i)
		case c.steps[i].known:
			c.checkExpressions(nodeSubject(i, g.nodes[i]).member("config"), i)
		}
	})
	if edge >= 0 {
		c.guard(edge)
	}
	return c.asked
}

// typedFrom says of nodes whether what is known in a node, or behind it, may depend on them: they
// lead to it, or are in a body that tells what such a node gives.
func (g Graph) typedFrom(place int, behind bool) []bool {
	leading, around := g.leadingTo(place), g.around(place)
	relevant := slices.Clone(leading)
	for i := range relevant {
		relevant[i] = relevant[i] || slices.ContainsFunc(g.around(i), func(parent int) bool {
			return leading[parent] && !slices.Contains(around, parent) || behind && parent == place
		})
	}
	return relevant
}

// note keeps a source if it is the one that is asked for, with the nodes that are seen there.
func (a *askedSource) note(c *checker, about subject, s Source, at site) bool {
	if a == nil || a.found || about.path != a.path {
		return false
	}
	a.found, a.source, a.titles = true, s, map[string]string{}
	var ids []string
	for i, n := range c.g.nodes {
		if !at.unseen(i) {
			ids = append(ids, string(n.ID))
			a.titles[string(n.ID)] = n.Name
		}
	}
	a.source.Roots = slices.Clone(s.Roots)
	for i, r := range a.source.Roots {
		if nodes := r.Type; r.Name == RootNodes {
			a.source.Roots[i].Type = typing.Lookup(ids, func(name string) (typing.Type, bool) {
				t, rest := nodes.Member(name)
				return t, rest == typing.Open
			})
		}
	}
	return true
}

// IsExpression says whether the text holds expressions, rather than being one that a template
// could be written into.
func (c Completion) IsExpression() bool { return !c.plain }

// Offers lists what could stand at the place. seen is the type of what was last seen of the value
// whose members are offered; any for nothing.
func (c Completion) Offers(seen typing.Type) Offers {
	if c.plain {
		return Offers{From: c.at, To: c.at}
	}
	s := c.Source
	s.Seen = seen
	found := c.expressions.Complete(s, c.at)
	if found.Partial = len(found.List) > MaxOffers; found.Partial { // those first that go on as what is written
		written := strings.ToLower(s.Text[found.From:c.at])
		slices.SortStableFunc(found.List, func(a, b Offer) int {
			return strings.Compare(startsOtherwise(a, written), startsOtherwise(b, written))
		})
		found.List = found.List[:MaxOffers]
	}
	for i := 0; found.Of == RootNodes && i < len(found.List); i++ {
		if o := &found.List[i]; o.Kind == OfferMember {
			o.Kind, o.About = OfferNode, c.titles[o.Name]
		}
	}
	return found
}

// startsOtherwise is empty for an offer whose name begins with a text.
func startsOtherwise(o Offer, with string) string {
	if strings.HasPrefix(strings.ToLower(o.Name), with) {
		return ""
	}
	return "otherwise"
}

// PlaceOf is the place of a byte of the text.
func (c Completion) PlaceOf(at int) Place {
	return placeIn(c.Source.Text, min(max(at, 0), len(c.Source.Text)))
}

// in finds the byte of a text that a place stands before; ok is false where the text has no such
// place. The end of a line is one.
func (p Place) in(text string) (at int, ok bool) {
	if p.Line < 1 || p.Column < 1 {
		return 0, false
	}
	for range p.Line - 1 {
		feed := strings.IndexByte(text[at:], '\n')
		if feed < 0 {
			return 0, false
		}
		at += feed + 1
	}
	for range p.Column - 1 {
		if at == len(text) || text[at] == '\n' {
			return 0, false
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at, true
}

// SeenType is what is known of a value that was seen: what it is, and what its members are.
func SeenType(value any) typing.Type {
	members, isObject := value.(map[string]any)
	if !isObject {
		return typeOfJSON(value)
	}
	made := typing.NewObject()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		made.Set(name, typeOfJSON(members[name]))
	}
	return made.Type()
}

package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// The sorts of broken rule that only a graph knows. They are part of the public
// contract, besides those of package domain.
const (
	SelfEdge           domain.ViolationCode = "self_edge"            // an edge from a node to itself
	Cycle              domain.ViolationCode = "cycle"                // nodes that lead back to themselves
	UnknownNode        domain.ViolationCode = "unknown_node"         // a node id that no node of the version has
	UnknownNodeType    domain.ViolationCode = "unknown_node_type"    // the tenant's registry has no such type
	UnknownNodeVersion domain.ViolationCode = "unknown_node_version" // the type exists, not in this version
	UnreachableNode    domain.ViolationCode = "unreachable_node"     // no run ever comes to it
	BadExpression      domain.ViolationCode = "bad_expression"       // an expression or template that does not compile
	BadCode            domain.ViolationCode = "bad_code"             // code that does not compile
	NodeNotBefore      domain.ViolationCode = "node_not_before"      // a node that an expression names and that does not lead to it
	UnknownOutput      domain.ViolationCode = "unknown_output"       // the source has no such output or branch
	UnknownInput       domain.ViolationCode = "unknown_input"        // the target has no such input
	TypeClash          domain.ViolationCode = "type_clash"           // what the source gives does not fit the target
	MissingInput       domain.ViolationCode = "missing_input"        // an input that nothing provides
	MissingEdge        domain.ViolationCode = "missing_edge"         // a branch target that no edge leads to
	UnknownTrigger     domain.ViolationCode = "unknown_trigger"      // a trigger that the version does not have
	WrongTriggerType   domain.ViolationCode = "wrong_trigger_type"   // a trigger of another type than its node's
	CrossesBorder      domain.ViolationCode = "crosses_border"       // an edge between nodes that are not in the same body
	TooDeep            domain.ViolationCode = "too_deep"             // bodies that nest too deep
	NotAContainer      domain.ViolationCode = "not_a_container"      // a parent that runs no other nodes
	EmptyBody          domain.ViolationCode = "empty_body"           // a node that runs others, of which there are none
	TriggerInBody      domain.ViolationCode = "trigger_in_body"      // a trigger node that no run starts at

	// What types tell.
	UnknownMember domain.ViolationCode = "unknown_member" // a member that a closed object never has
	NotAFunction  domain.ViolationCode = "not_a_function" // a method that the value does not have
	ArgumentType  domain.ViolationCode = "argument_type"  // a value that an operation always refuses

	// Warnings.
	ConstantComparison domain.ViolationCode = "constant_comparison" // what is never true, or always
	MaybeMissing       domain.ViolationCode = "maybe_missing"       // a value that may be undefined or null where that fails
	MaybeWrongType     domain.ViolationCode = "maybe_wrong_type"    // a value that may be of a kind that fails
	UnusedAnswer       domain.ViolationCode = "unused_answer"       // a person is asked, and nothing looks at the answer
	LiteralSecret      domain.ViolationCode = "literal_secret"      // a text that looks like a secret
	BranchEnds         domain.ViolationCode = "branch_ends"         // a branch that leads nowhere
	AlikeTriggers      domain.ViolationCode = "alike_triggers"      // a warning: a trigger that is fired by what fires another one
)

// Finding is one thing that keeps a graph from being stored or published, or a warning.
type Finding struct {
	Field   string // dotted path as the client wrote it: nodes[2].config.url, edges[0].targetNodeId; triggers.<id> for a trigger
	NodeID  NodeID // the node it is about, empty when it is about none
	EdgeID  EdgeID // the edge it is about, empty when it is about none
	Code    domain.ViolationCode
	Message string // what is wrong and what would be right, beginning in lower case after the field's name
	At      Place  // where in the text of the field it is; nowhere where it is about the whole
}

// Violation turns the finding into the form that every error has.
func (f Finding) Violation() domain.Violation {
	return domain.Violation{Field: f.Field, Message: f.Message, Code: f.Code}
}

// located turns findings into that form, with what they are about.
func located(found []Finding) []domain.Violation {
	all := make([]domain.Violation, len(found))
	for i, f := range found {
		all[i] = f.Violation()
		all[i].Node, all[i].Edge, all[i].Line, all[i].Column = string(f.NodeID), string(f.EdgeID), f.At.Line, f.At.Column
	}
	return all
}

// String renders the finding as "field message".
func (f Finding) String() string { return f.Violation().String() }

// subject is what findings are about: the place of a node or an edge in the
// client's document.
type subject struct {
	path string
	node NodeID
	edge EdgeID
}

func nodeSubject(i int, n Node) subject {
	return subject{path: domain.Index("nodes", i), node: n.ID}
}

func edgeSubject(i int, e Edge) subject {
	return subject{path: domain.Index("edges", i), edge: e.ID}
}

// member returns the same subject with the path of one of its members.
func (s subject) member(name string) subject {
	s.path = domain.Member(s.path, name)
	return s
}

// item returns the same subject with the path of an element of an array.
func (s subject) item(i int) subject {
	s.path = domain.Index(s.path, i)
	return s
}

// findings collects findings, one for each field: the first, because later ones
// follow from it. It does what domain.Rules does, in linear time however many
// there are. The zero value is ready to use.
type findings struct {
	list      []Finding
	seen      map[string]bool
	eachPlace bool // one for each place in a field's text, as warnings have
}

// maxWarnings bounds how many warnings a check gives.
const maxWarnings = 500

// inOrder sorts the findings from the one at a place on: by node, then by edge, those about
// neither first.
func (fs *findings) inOrder(from int, g Graph) {
	edges := make(map[EdgeID]int, len(g.edges))
	for i, e := range g.edges {
		edges[e.ID] = i
	}
	place := func(f Finding) int {
		switch {
		case f.NodeID != "":
			return 1 + g.index[f.NodeID]
		case f.EdgeID != "":
			return 1 + len(g.nodes) + edges[f.EdgeID]
		}
		return 0
	}
	slices.SortStableFunc(fs.list[from:], func(a, b Finding) int { return cmp.Compare(place(a), place(b)) })
}

// collected continues with findings that were made before.
func collected(list []Finding) findings {
	fs := findings{list: list, seen: make(map[string]bool, len(list))}
	for _, f := range list {
		fs.seen[f.Field] = true
	}
	return fs
}

func (fs *findings) add(about subject, code domain.ViolationCode, format string, args ...any) {
	fs.addAt(about, Place{}, code, format, args...)
}

// addAt adds a finding about a place in the text of a field.
func (fs *findings) addAt(about subject, at Place, code domain.ViolationCode, format string, args ...any) {
	key := about.path
	if fs.eachPlace && at != (Place{}) {
		key += " " + at.String()
	}
	if fs.seen[key] || fs.eachPlace && len(fs.list) == maxWarnings {
		return
	}
	if fs.seen == nil {
		fs.seen = map[string]bool{}
	}
	fs.seen[key] = true
	fs.list = append(fs.list, Finding{
		Field: about.path, NodeID: about.node, EdgeID: about.edge, Code: code, Message: fmt.Sprintf(format, args...), At: at,
	})
}

// text applies the rules that every text of a client obeys to one member.
func (fs *findings) text(about subject, value string, minLen, maxLen int) {
	var r domain.Rules
	r.Text(value, about.path, minLen, maxLen)
	for _, v := range r.Violations() {
		fs.add(about, v.Code, "%s", v.Message)
	}
}

// invalid returns nil when there is nothing to report, else an Invalid error that
// holds what an adapter found while it read the request, then the findings. A
// finding about a member whose type was wrong, or that lies inside such a member,
// would only repeat that and is left out.
func invalid(code, message string, malformed []domain.Violation, found []Finding) *domain.Error {
	var all []domain.Violation
	read := make(map[string]bool, len(malformed))
	for _, v := range malformed {
		if !read[v.Field] {
			read[v.Field] = true
			all = append(all, v)
		}
	}
	for _, f := range found {
		if !within(read, f.Field) {
			all = append(all, f.Violation())
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &domain.Error{Kind: domain.Invalid, Code: code, Message: message, Violations: all}
}

// within says whether the path or one that contains it is in the set.
func within(paths map[string]bool, path string) bool {
	for len(paths) > 0 {
		if paths[path] {
			return true
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			return false
		}
		path = path[:cut]
	}
	return false
}

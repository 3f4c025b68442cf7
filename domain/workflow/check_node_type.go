package workflow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// lookup finds the node's type in the registry and reports what is wrong with its
// name or its version.
func (c *checker) lookup(about subject, n Node) (node.NodeType, bool) {
	kind := node.Type(n.Type)
	if n.Type == "" {
		c.found.add(about.member("type"), domain.Required, "must not be empty; it names a node type of the registry")
		return node.NodeType{}, false
	}
	if !c.env.Registry.Knows(kind) {
		c.found.add(about.member("type"), UnknownNodeType,
			"must name a node type of the registry; there is no %s%s", quote(n.Type), c.typeNames().suggestion(n.Type))
		return node.NodeType{}, false
	}
	about = about.member("version")
	if n.Version == "" {
		c.found.add(about, domain.Required, "must not be empty; the registry has %s in version %s", quote(n.Type), c.typeNames().versions(n.Type))
		return node.NodeType{}, false
	}
	version, err := node.ParseSemVer(n.Version)
	found, ok := c.env.Registry.Lookup(kind, version)
	if err != nil || !ok {
		c.found.add(about, UnknownNodeVersion,
			"must be a version of %s that the registry has: %s, not %s", quote(n.Type), c.typeNames().versions(n.Type), quote(n.Version))
		return node.NodeType{}, false
	}
	return found, true
}

// typeNames is what a message can offer instead of a name that is wrong.
type typeNames struct {
	types   []string            // every type once, in the registry's order
	bare    []string            // the same without case and separators
	byType  map[string][]string // its versions
	guesses map[string]string   // suggestions made before
}

func (c *checker) typeNames() *typeNames {
	if c.names == nil {
		c.names = namesOf(c.env.Registry)
	}
	return c.names
}

func namesOf(r node.Registry) *typeNames {
	names := &typeNames{byType: map[string][]string{}, guesses: map[string]string{}}
	entries := r.Entries()
	for _, t := range []node.Type{node.TriggerWebhook, node.TriggerSchedule} {
		if kind, ok := node.BuiltIn(t); ok && r.Knows(t) {
			entries = append(entries, kind) // known to versions, not listed
		}
	}
	for _, e := range entries {
		t := string(e.Type)
		if names.byType[t] == nil {
			names.types = append(names.types, t)
			names.bare = append(names.bare, bare(t))
		}
		names.byType[t] = append(names.byType[t], e.Version.String())
	}
	return names
}

// versions lists the versions of a type, the last ones when there are many.
func (t *typeNames) versions(of string) string {
	const most = 10
	versions := t.byType[of]
	return domain.OneOf(versions[max(0, len(versions)-most):]...)
}

// suggestion asks whether a type that is spelled almost like this one was meant;
// empty when there is none.
func (t *typeNames) suggestion(wrong string) string {
	guess, known := t.guesses[wrong]
	if !known {
		meant := bare(wrong)
		i := slices.IndexFunc(t.bare, func(right string) bool { return alike(meant, right) })
		if i >= 0 {
			guess = "; did you mean " + strconv.Quote(t.types[i]) + "?"
		}
		t.guesses[wrong] = guess
	}
	return guess
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", ":", "", " ", "")

func bare(name string) string { return strings.ToLower(separators.Replace(name)) }

// Alike says whether one name could be meant by the other: they differ by two letters, their
// case and what separates words.
func Alike(a, b string) bool { return alike(bare(a), bare(b)) }

// alike says whether two names differ by two insertions, deletions or
// substitutions of a byte at most. Short ones must be equal.
func alike(a, b string) bool {
	const most = 2
	if len(a)-len(b) > most || len(b)-len(a) > most || len(b) <= most {
		return a == b
	}
	row := make([]int, len(b)+1) // Levenshtein distance of a[:i] and b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, row[j+1]+1)
			least = min(least, row[j+1])
		}
		if least > most {
			return false
		}
	}
	return row[len(b)] <= most
}

// quote shows a client's text in a message.
func quote[T ~string](s T) string { return strconv.Quote(clip(string(s))) }

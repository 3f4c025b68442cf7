package workflowfile

import (
	"fmt"
	"regexp"
	"strings"
)

// What stands for the identifier of a connection or of a workflow: an object with the name as its only member.
const (
	toConnection = "$connection"
	toWorkflow   = "$workflow"
)

// replaced returns a value of JSON in which do has replaced what it wants to.
func replaced(path string, value any, do func(path string, value any) (any, bool)) any {
	if other, done := do(path, value); done {
		return other
	}
	switch v := value.(type) {
	case map[string]any:
		made := make(map[string]any, len(v))
		for name, one := range v {
			made[name] = replaced(join(path, name), one, do)
		}
		return made
	case []any:
		made := make([]any, len(v))
		for i, one := range v {
			made[i] = replaced(element(path, i), one, do)
		}
		return made
	}
	return value
}

// reference reads an object that stands for an identifier.
func reference(value any) (kind, name string, ok bool) {
	v, _ := value.(map[string]any)
	for _, kind := range []string{toConnection, toWorkflow} {
		if named, there := v[kind]; there {
			name, _ = named.(string)
			return kind, name, true
		}
	}
	return "", "", false
}

func checkReferences(document map[string]any, report func(path, message string)) {
	replaced("", document, func(path string, value any) (any, bool) {
		kind, name, ok := reference(value)
		if v, _ := value.(map[string]any); ok && (name == "" || len(v) > 1) {
			report(path, fmt.Sprintf(`must be {%q: "…"} with a name and nothing else`, kind))
		}
		return nil, ok
	})
}

// calls are the names of the workflows that the file's nodes call.
func (w *Workflow) calls() (names []string) {
	replaced("", w.document, func(_ string, value any) (any, bool) {
		kind, name, ok := reference(value)
		if ok && kind == toWorkflow {
			names = append(names, name)
		}
		return nil, ok
	})
	return names
}

// identifier is one of a connection or of a workflow.
var identifier = regexp.MustCompile(`^(conn|wf)_[0-7][0-9a-hjkmnp-tv-z]{25}$`)

// names are what stands for identifiers, and the other way around.
type names struct {
	ids map[string]map[string][]string // by kind and name
	of  map[string][2]string           // kind and name, by identifier

	hidden map[string]string // by kind: why the key may not read them
}

func newNames() names {
	return names{map[string]map[string][]string{toConnection: {}, toWorkflow: {}}, map[string][2]string{}, map[string]string{}}
}

func (n names) add(kind, name, id string) {
	n.ids[kind][name] = append(n.ids[kind][name], id)
	n.of[id] = [2]string{kind, name}
}

// id is what a name stands for, or why that is not known.
func (n names) id(kind, name string) (id, problem string) {
	what := strings.TrimPrefix(kind, "$")
	switch found := n.ids[kind][name]; len(found) {
	case 0:
		if why := n.hidden[kind]; why != "" {
			return "", fmt.Sprintf("names the %s %q, and this key may not read them: %s", what, name, why)
		}
		return "", fmt.Sprintf("the gateway has no %s that is called %q", what, name)
	case 1:
		return found[0], ""
	default:
		return "", fmt.Sprintf("the gateway has %d %ss that are called %q: give them names of their own", len(found), what, name)
	}
}

// named has names in place of identifiers.
func (n names) named(value any, report func(path, message string)) any {
	return replaced("", value, func(path string, value any) (any, bool) {
		id, _ := value.(string)
		kindAndName, known := n.of[id]
		if !known {
			if identifier.MatchString(id) {
				report(path, fmt.Sprintf("is %s, of which this key is shown no name", id))
			}
			return nil, false
		}
		kind, name := kindAndName[0], kindAndName[1]
		if _, problem := n.id(kind, name); problem != "" {
			report(path, problem)
		}
		return map[string]any{kind: name}, true
	})
}

// identified has identifiers in place of names.
func (n names) identified(path string, value any, report func(path, message string)) any {
	return replaced(path, value, func(path string, value any) (any, bool) {
		kind, name, ok := reference(value)
		if !ok {
			return nil, false
		}
		id, problem := n.id(kind, name)
		if problem != "" {
			report(path, problem)
		}
		return id, true
	})
}

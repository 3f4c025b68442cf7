package tenant

import (
	"slices"

	"github.com/sluicehq/sluice/domain"
)

// Right is something that a narrowed key or an embed token may do; the API calls it a
// permission. What changes things includes reading them.
type Right string

// The rights.
const (
	ReadWorkflowsRight    Right = "workflows:read"
	WriteWorkflowsRight   Right = "workflows:write"
	PublishWorkflowsRight Right = "workflows:publish"
	ReadTriggersRight     Right = "triggers:read"
	WriteTriggersRight    Right = "triggers:write"
	ReadRunsRight         Right = "runs:read"
	StartRunsRight        Right = "runs:start"
	ActOnRunsRight        Right = "runs:act" // answer, cancel, retry, repeat
	ReadConnectionsRight  Right = "connections:read"
	WriteConnectionsRight Right = "connections:write"
)

// AllRights lists every right.
func AllRights() []Right {
	return []Right{
		ReadWorkflowsRight, WriteWorkflowsRight, PublishWorkflowsRight, ReadTriggersRight, WriteTriggersRight,
		ReadRunsRight, StartRunsRight, ActOnRunsRight, ReadConnectionsRight, WriteConnectionsRight,
	}
}

// includes says which right to read comes with which other right.
var includes = map[Right]Right{
	WriteWorkflowsRight: ReadWorkflowsRight, PublishWorkflowsRight: ReadWorkflowsRight, WriteTriggersRight: ReadTriggersRight,
	StartRunsRight: ReadRunsRight, ActOnRunsRight: ReadRunsRight, WriteConnectionsRight: ReadConnectionsRight,
}

// Preset is a set of rights with a name.
type Preset string

// The presets, each of which has the rights of the one before.
const (
	Viewer   Preset = "viewer"   // reads everything
	Approver Preset = "approver" // and acts on runs
	Editor   Preset = "editor"   // and everything else
)

// Presets lists every preset.
func Presets() []Preset { return []Preset{Viewer, Approver, Editor} }

// Rights is what the preset stands for; none for an unknown one.
func (p Preset) Rights() []Right {
	reading := []Right{ReadWorkflowsRight, ReadTriggersRight, ReadRunsRight, ReadConnectionsRight}
	switch p {
	case Viewer:
		return reading
	case Approver:
		return append(reading, ActOnRunsRight)
	case Editor:
		return AllRights()
	default:
		return nil
	}
}

// completeRights adds what each right includes, and gives them in the order of [AllRights].
func completeRights(given []Right) []Right {
	var complete []Right
	for _, r := range AllRights() {
		if slices.ContainsFunc(given, func(g Right) bool { return g == r || includes[g] == r }) {
			complete = append(complete, r)
		}
	}
	return complete
}

// checkRights checks that rights exist.
func checkRights(r *domain.Rules, rights []Right, field string) {
	for i, right := range rights {
		r.Check(slices.Contains(AllRights(), right), domain.Index(field, i), domain.NotAllowed,
			"must be %s, not %q", domain.OneOf(AllRights()...), string(right))
	}
}

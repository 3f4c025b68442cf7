package node

import (
	"strconv"

	"github.com/sluicehq/sluice/domain"
)

// The branches of a condition and the one a switch takes when no case fits.
const (
	BranchTrue    = "true"
	BranchFalse   = "false"
	BranchDefault = "default"
)

// CaseBranch is the branch of a switch's case, counted from 0: "case-0".
func CaseBranch(i int) string { return "case-" + strconv.Itoa(i) }

// Branches lists the branches that a node of this type with this configuration
// can choose, in order: true and false of a condition; case-0, case-1 … and
// default of a switch; nil for a node that chooses none.
func Branches(t Type, config map[string]any) []string {
	switch t {
	case Condition:
		return []string{BranchTrue, BranchFalse}
	case Switch:
		cases, _ := config["cases"].([]any)
		branches := make([]string, 0, len(cases)+1)
		for i := range cases {
			branches = append(branches, CaseBranch(i))
		}
		return append(branches, BranchDefault)
	}
	return nil
}

// BranchTarget is where the configuration of a condition or a switch names the node that a
// branch leads to, as editors write it.
type BranchTarget struct {
	Branch string
	Member string // path within the configuration: trueBranch, cases[0].nodeId
	Node   string // its id; empty where the configuration names none
}

// BranchTargets lists the target of each of [Branches].
func BranchTargets(t Type, config map[string]any) []BranchTarget {
	branches := Branches(t, config)
	targets := make([]BranchTarget, 0, len(branches))
	cases, _ := config["cases"].([]any)
	for i, branch := range branches {
		holder, path, member := config, "", "defaultNode"
		switch {
		case branch == BranchTrue:
			member = "trueBranch"
		case branch == BranchFalse:
			member = "falseBranch"
		case i < len(cases):
			holder, _ = cases[i].(map[string]any)
			path, member = domain.Index("cases", i), "nodeId"
		}
		id, _ := holder[member].(string)
		targets = append(targets, BranchTarget{branch, domain.Member(path, member), id})
	}
	return targets
}

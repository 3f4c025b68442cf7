package node

import (
	_ "embed" // builtin.json
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
)

// The built-in node types.
const (
	Input        Type = "input"        // pauses until a person answers
	Wait         Type = "wait"         // pauses for a time
	WaitForEvent Type = "waitForEvent" // pauses until an event arrives
	Condition    Type = "condition"    // chooses one of two branches
	Switch       Type = "switch"       // chooses one of several branches
	Transform    Type = "transform"    // computes
	HTTPRequest  Type = "httpRequest"  // calls out
	CallWorkflow Type = "callWorkflow" // runs another workflow
	ForEach      Type = "forEach"      // runs its body once for each item
	Return       Type = "return"       // gives the output of the run
	Code         Type = "code"         // computes what an expression cannot
)

// The nodes that stand for a trigger in a version's graph. They are known to
// versions but are not listed in the registry and cannot be disabled.
const (
	TriggerWebhook  Type = "trigger_webhook"
	TriggerSchedule Type = "trigger_schedule"
)

//go:embed builtin.json
var builtInText []byte

// linkedLevel is set by tests that build a binary in which waiting needs a level.
var linkedLevel string

// definition is one entry of builtin.json.
type definition struct {
	Type         Type         `json:"type"`
	Version      string       `json:"version"`
	Capabilities Capabilities `json:"capabilities"`
	InputSchema  Declarations `json:"inputSchema"`
	OutputSchema Declarations `json:"outputSchema"`
	ConfigSchema Declarations `json:"configSchema"`
}

// builtIns holds every node of the platform, trigger nodes included, in each language. It
// panics on a fault, since the data is part of the program.
var builtIns = sync.OnceValue(func() map[tenant.Language][]NodeType {
	var definitions []definition
	if err := json.Unmarshal(builtInText, &definitions); err != nil {
		panic(fmt.Sprintf("node: the built-in nodes are not valid: %v", err))
	}
	all := make(map[tenant.Language][]NodeType)
	for _, l := range tenant.Languages() {
		c := loadCatalogue(l)
		for _, d := range definitions {
			all[l] = append(all[l], d.nodeType(c[d.Type]))
		}
	}
	return all
})

func (d definition) nodeType(t texts) NodeType {
	version, err := ParseSemVer(d.Version)
	if err != nil {
		panic(fmt.Sprintf("node: built-in node %s: %v", d.Type, err))
	}
	var r domain.Rules
	n := NodeType{
		Type: d.Type, Name: t.Name, Description: t.Description, Version: version, BuiltIn: true, Capabilities: d.Capabilities,
		Input:  ParseSchema(&r, "inputSchema", t.describe("input", d.InputSchema)),
		Output: ParseSchema(&r, "outputSchema", t.describe("output", d.OutputSchema)),
		Config: ParseSchema(&r, "configSchema", t.describe("config", d.ConfigSchema)),
	}
	if err := r.Err("schema_invalid", "The schema is not valid."); err != nil {
		panic(fmt.Sprintf("node: built-in node %s: %v", d.Type, err))
	}
	if level, err := strconv.Atoi(linkedLevel); err == nil && n.Type == Wait {
		n.Level = process.Level(level)
	}
	return n
}

// platform returns every node of the platform in the language, English when
// there is no catalogue for it.
func platform(l tenant.Language) []NodeType {
	if nodes, ok := builtIns()[l]; ok {
		return nodes
	}
	return builtIns()[tenant.English]
}

// newest leaves out the versions of types that have a newer one. Those of a type stand next to
// each other, the newest last.
func newest(all []NodeType) (kept []NodeType) {
	for i, n := range all {
		if i+1 == len(all) || all[i+1].Type != n.Type {
			kept = append(kept, n)
		}
	}
	return kept
}

// BuiltIns lists the built-in node types in their customary order, each in its newest version,
// with names and descriptions in the language (English when it is not one of
// [tenant.Languages]). Trigger nodes are left out.
func BuiltIns(l tenant.Language) []NodeType {
	return slices.DeleteFunc(newest(platform(l)), func(n NodeType) bool { return n.Type.IsTrigger() })
}

// BuiltIn returns the newest version of the built-in node or trigger node of this type, in
// English.
func BuiltIn(t Type) (NodeType, bool) {
	all := BuiltInVersions(t)
	if len(all) == 0 {
		return NodeType{}, false
	}
	return all[len(all)-1], true
}

// BuiltInVersions returns every version of the built-in node or trigger node of this type, the
// newest last, in English.
func BuiltInVersions(t Type) (all []NodeType) {
	for _, n := range platform(tenant.English) {
		if n.Type == t {
			all = append(all, n)
		}
	}
	return all
}

// IsBuiltIn says whether a built-in node type has this name: one that a tenant can
// disable. Trigger nodes are none.
func IsBuiltIn(name string) bool {
	_, reserved := BuiltIn(Type(name))
	return reserved && !Type(name).IsTrigger()
}

// ContinueOnItemError is the onItemError of a [ForEach] that goes on when an item has failed.
const ContinueOnItemError = "continue"

// IsTrigger says whether t is a node that stands for a trigger.
func (t Type) IsTrigger() bool { return t == TriggerWebhook || t == TriggerSchedule }

package run

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/workflow"
)

// planner makes nodes ready.
type planner struct {
	types    Types
	compiler Compiler
	graph    workflow.Graph // the whole version
	scope    []string       // the roots of expressions
}

// action reads what a node does, and its configuration.
func (p planner) action(n workflow.Node) (action, map[string]any) {
	tree, err := parse(json.RawMessage(n.Config.String()))
	config, isObject := tree.(map[string]any)
	if err != nil || !isObject {
		return brokenf(CodeConfigInvalid, "config must be a JSON object"), nil
	}
	kind, known := p.lookup(n)
	if !known {
		return brokenf(CodeTypeUnavailable, "There is no node type "+strconv.Quote(n.Type)+" in version "+strconv.Quote(n.Version)+" any more."), config
	}
	config = kind.ReadConfig(config)
	if !holdsTemplate(kind.Templated(config)) {
		var r domain.Rules
		kind.CheckConfig(&r, "config", config)
		if f := invalid(CodeConfigInvalid, r.Violations()); f != nil {
			return brokenAction{*f}, config
		}
	}
	switch {
	case kind.Type.IsTrigger():
		return triggerAction{}, config
	case kind.RunsBody:
		return p.loop(n.ID, config), config
	case kind.HasEffect, kind.Computes:
		return p.effect(n, kind, config), config
	}
	return p.pure(kind, config), config
}

// pure makes a built-in node ready that has no effect outside.
func (p planner) pure(kind node.NodeType, config map[string]any) action {
	switch kind.Type {
	case node.Condition:
		return p.condition(config)
	case node.Switch:
		return p.switchAction(config)
	case node.Transform:
		return p.transform(config)
	case node.Wait:
		return p.wait(config)
	case node.WaitForEvent:
		event, _ := config["event"].(string)
		return eventAction{event: event, timeout: milliseconds(config["timeoutMs"])}
	case node.Return:
		return p.returns(config)
	case node.Input:
		return p.input(kind, config)
	}
	return brokenf(CodeTypeUnavailable, "There is nothing that runs a node of type "+strconv.Quote(string(kind.Type))+".")
}

// lookup finds the type of a node. What the tenant has disabled is still there for
// the versions that use it.
func (p planner) lookup(n workflow.Node) (node.NodeType, bool) {
	version, err := node.ParseSemVer(n.Version)
	if err != nil {
		return node.NodeType{}, false
	}
	if kind, known := p.types.Lookup(node.Type(n.Type), version); known {
		return kind, true
	}
	for _, kind := range node.BuiltInVersions(node.Type(n.Type)) {
		if kind.Version == version {
			return kind, true
		}
	}
	return node.NodeType{}, false
}

// holdsTemplate says whether a string within the value has an expression in it.
func holdsTemplate(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, "{{")
	case []any:
		return slices.ContainsFunc(v, holdsTemplate)
	case map[string]any:
		for _, member := range v {
			if holdsTemplate(member) {
				return true
			}
		}
	}
	return false
}

// milliseconds reads a checked number; 0 when there is none.
func milliseconds(value any) time.Duration {
	ms, _ := double(value)
	return time.Duration(ms) * time.Millisecond
}

package node

import (
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/process"
)

// Capabilities say how a run treats the nodes of a type, so that nothing has to ask which
// type it is.
type Capabilities struct {
	CanPause     bool `json:"canPause"`     // it can pause a run
	HasEffect    bool `json:"hasEffect"`    // it acts outside the gateway, by attempts that can fail and be made again
	StartsRun    bool `json:"startsRun"`    // its effect is another run, which the gateway starts itself
	RunsBody     bool `json:"runsBody"`     // it runs the nodes whose parent it is, once for each item
	Computes     bool `json:"computes"`     // it computes outside the run, by attempts that give the same whenever they are made
	PassesInput  bool `json:"passesInput"`  // its output is its input: it only decides when or where the run continues
	HasTemplates bool `json:"hasTemplates"` // {{ expressions }} in the texts of its configuration are resolved
	LimitsOutput bool `json:"limitsOutput"` // what it gives is limited in size where it is read

	// Level is what a process must have to run it. A type that came after the first release
	// has that of its version; 0 is for all.
	Level process.Level `json:"level"`

	// Members of the configuration; empty for none.
	URLMember     string `json:"urlMember"`     // is a URL, also when it is a template
	TimeoutMember string `json:"timeoutMember"` // how long an attempt may take, in milliseconds
}

// behaviour is what neither schemas nor capabilities can say of a built-in node.
type behaviour struct {
	// checkConfig demands what relates members of the configuration to one another.
	checkConfig func(r *domain.Rules, path string, config map[string]any)

	// checkTemplate checks what stands around the expressions of the template at a path
	// below that of the configuration.
	checkTemplate func(r *domain.Rules, config, path, text string)

	// namedMember is the member of the configuration whose members are named by the client.
	// What is wrong with a name is reported where the value stands.
	namedMember string

	// literalMember is the member of the configuration in which there are no templates; empty for none.
	literalMember string

	// instantMember is text of the configuration that may be milliseconds since 1970 as well.
	instantMember string

	outputs    func(config map[string]any) Declarations // nil where the type says it all
	idempotent func(config map[string]any) bool         // an effect that is had twice is as good as one
}

var behaviours = map[Type]behaviour{
	Input:     {checkConfig: checkInput, literalMember: formMember, outputs: questionOutputs},
	Wait:      {checkConfig: checkWait, instantMember: "until"},
	Transform: {checkConfig: checkTransform},
	CallWorkflow: {
		checkTemplate: checkCallTemplate, idempotent: func(map[string]any) bool { return true }, // it starts with the step that records it
	},
	HTTPRequest: {
		checkConfig: checkRequest, checkTemplate: checkRequestTemplate, namedMember: headersMember, idempotent: isIdempotentRequest,
	},
}

func (n NodeType) behaviour() behaviour {
	if !n.BuiltIn {
		return behaviour{}
	}
	if n.Type == Input && !n.asksForms() {
		return behaviour{outputs: inputOutputs}
	}
	return behaviours[n.Type]
}

// Templated is the part of a configuration in whose texts {{ expressions }} are resolved.
func (n NodeType) Templated(config map[string]any) map[string]any {
	literal := n.behaviour().literalMember
	switch _, given := config[literal]; {
	case !n.HasTemplates:
		return nil
	case literal == "" || !given:
		return config
	}
	config = maps.Clone(config)
	delete(config, literal)
	return config
}

// CheckConfig records in r, under path, everything that is wrong with a node's
// configuration as [NodeType.ReadConfig] reads it: what breaks the configuration schema
// and, for a built-in node, the rules that relate members to one another. Members that
// hold an expression are checked as the text they are.
func (n NodeType) CheckConfig(r *domain.Rules, path string, config map[string]any) {
	config = n.ReadConfig(config)
	n.Config.Check(r, path, config)
	if check := n.behaviour().checkConfig; check != nil {
		check(r, path, config)
	}
}

// CheckUnresolved is CheckConfig for a configuration with templates, whose values are not
// known yet. isTemplate says at which paths they stand.
func (n NodeType) CheckUnresolved(r *domain.Rules, path string, config map[string]any, isTemplate func(path string) bool) {
	named := n.behaviour().namedMember
	var all domain.Rules
	n.CheckConfig(&all, path, withoutTemplates(named, config))
	names := domain.Member(domain.Member(path, named), "")
	for _, v := range all.Violations() {
		if !isTemplate(v.Field) || named != "" && strings.HasPrefix(v.Field, names) { // it is about the name: the template is left out
			r.Add(v)
		}
	}
}

// withoutTemplates empties the templates within a member of the configuration.
func withoutTemplates(member string, config map[string]any) map[string]any {
	values, isObject := config[member].(map[string]any)
	if !isObject {
		return config
	}
	config = maps.Clone(config)
	config[member] = withoutTemplate(values)
	return config
}

func withoutTemplate(value any) any {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "{{") {
			return ""
		}
	case []any:
		v = slices.Clone(v)
		for i := range v {
			v[i] = withoutTemplate(v[i])
		}
		return v
	case map[string]any:
		v = maps.Clone(v)
		for name := range v {
			v[name] = withoutTemplate(v[name])
		}
		return v
	}
	return value
}

// CheckTemplate records in r what is wrong with the text around the expressions of the
// template at a path below that of the configuration.
func (n NodeType) CheckTemplate(r *domain.Rules, config, path, text string) {
	if check := n.behaviour().checkTemplate; check != nil {
		check(r, config, path, text)
	}
}

// Outputs is what a node with this configuration gives.
func (n NodeType) Outputs(config map[string]any) Schema {
	if outputs := n.behaviour().outputs; outputs != nil {
		return restoreSchema(outputs(config))
	}
	return n.Output
}

// MayRepeat says that a crash between an attempt and the record of its result could let the
// effect happen twice, unless the receiver honours the Idempotency-Key.
func (n NodeType) MayRepeat(config map[string]any) bool {
	idempotent := n.behaviour().idempotent
	return n.HasEffect && (idempotent == nil || !idempotent(config))
}

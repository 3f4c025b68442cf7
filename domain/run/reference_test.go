package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// scenario is a drawn graph with what each node will do when a run comes to it.
// Nodes lead to nodes with a greater number only.
type scenario struct {
	kinds      []string // call, code, approve, boom, compute, condition, switch, input, wait, event, return, pass, sub
	links      []link
	cases      [][2]string    // of switches: the values of their cases in JSON
	payload    map[string]any // c<i>: how condition i decides, s<i>: what switch i looks at, g<n>: guards
	behaviours []behaviour
	targets    [][]int // of conditions and switches: the node that each branch names, -1 for none
	fixed      bool    // late guards can be computed
}

type link struct {
	source, target int
	key, into      string
	guard          string // "", a name of the payload, "m": result.m > 1, "x": cannot be computed, "late": not before [far]
}

// far is after everything that runs wait for.
var far = noon.Add(48 * time.Hour)

// behaviour is what a node with an effect or a pause will do.
type behaviour struct {
	failure string // code; empty for success
	flaky   int    // failed attempts that are worth repeating, before that
}

func name(i int) string { return fmt.Sprintf("n%d", i) }

// verdict is what the rules say about one node, whatever the order of things.
type verdict struct {
	status  run.NodeStatus
	branch  string
	output  any // of a completed node, or what an edge for failures carries
	handled bool
	doubts  []workflow.EdgeID // edges of which nobody can say whether they are taken
}

// reference works the rules of the graph out backwards: what became of a node is
// asked of the edges that lead to it, and of an edge of its source. It knows no
// events, no time and no order.
type reference struct {
	s     *scenario
	known map[int]verdict
}

func newReference(s *scenario) *reference { return &reference{s: s, known: map[int]verdict{}} }

func (r *reference) verdict(i int) verdict {
	if v, ok := r.known[i]; ok {
		return v
	}
	v := r.judge(i)
	r.known[i] = v
	for at, l := range r.s.links {
		if l.source == i && r.open(l) && (l.guard == "x" || l.guard == "late" && !r.s.fixed) {
			v.doubts = append(v.doubts, workflow.EdgeID(fmt.Sprint("edge_", at)))
		}
	}
	r.known[i] = v
	if v.status == run.NodeFailed {
		for _, l := range r.s.links {
			v.handled = v.handled || l.source == i && r.taken(l)
		}
		r.known[i] = v
	}
	return v
}

func (r *reference) judge(i int) verdict {
	input, reached := r.input(i)
	if !reached {
		return verdict{status: run.NodeSkipped}
	}
	done := func(output any, branch string) verdict {
		return verdict{status: run.NodeCompleted, output: output, branch: branch}
	}
	code := r.s.behaviours[i].failure
	switch r.s.kinds[i] {
	case "compute":
		return done(map[string]any{"m": float64(i % 3), "in": input}, "")
	case "condition":
		return done(input, fmt.Sprint(r.s.payload[fmt.Sprintf("c%d", i)]))
	case "switch":
		for c, value := range r.s.cases[i] {
			if looked := text(r.s.payload[fmt.Sprintf("s%d", i)]); looked == value || text(looked) == value {
				return done(input, fmt.Sprintf("case-%d", c))
			}
		}
		return done(input, "default")
	case "wait", "pass":
		return done(input, "")
	case "return":
		return done(map[string]any{"m": 2.0, "returned": input}, "")
	case "sub":
		if code != "" {
			code = run.CodeCallFailed
		}
	case "boom":
		code = "expression_failed"
	}
	if code != "" {
		return verdict{status: run.NodeFailed, output: code}
	}
	return done(wantedOutput(r.s, i), "")
}

// wantedOutput is what a node with an effect or a pause gives when it succeeds.
func wantedOutput(s *scenario, i int) any {
	switch s.kinds[i] {
	case "input":
		return map[string]any{"value": name(i)}
	case "event":
		return map[string]any{"event": name(i), "eventData": float64(i)}
	}
	if i%4 == 3 {
		return name(i) // no object
	}
	return map[string]any{"m": float64(i % 3), "by": name(i)}
}

// open says whether a run goes along the edge as far as its condition does not decide.
func (r *reference) open(l link) bool {
	source := r.verdict(l.source)
	if source.status == run.NodeSkipped || (source.status == run.NodeFailed) != (l.key == workflow.OnError) {
		return false
	}
	if branches := r.s.branches(l.source); branches != nil && source.status == run.NodeCompleted {
		chosen := slices.Index(branches, source.branch)
		switch {
		case l.key == workflow.OnSuccess:
		case l.key != "":
			if l.key != source.branch {
				return false
			}
		case slices.Contains(r.s.targets[l.source], l.target) && r.s.targets[l.source][chosen] != l.target:
			return false
		}
	}
	return true
}

// taken says whether a run goes along the edge. Where it is not known of one edge of a
// node that has completed, the run ends there; of one that has failed such an edge is not
// taken.
func (r *reference) taken(l link) bool {
	source := r.verdict(l.source)
	if !r.open(l) || source.status != run.NodeFailed && len(source.doubts) > 0 {
		return false
	}
	switch l.guard {
	case "":
		return true
	case "x":
		return false
	case "late":
		return r.s.fixed
	case "m":
		object, _ := source.output.(map[string]any)
		m, _ := object["m"].(float64)
		return m > 1
	}
	return r.s.payload[l.guard].(bool)
}

func (s *scenario) branches(i int) []string {
	switch s.kinds[i] {
	case "condition":
		return []string{"true", "false"}
	case "switch":
		return []string{"case-0", "case-1", "default"}
	}
	return nil
}

// input is what flows into a node; reached is false when nothing does.
func (r *reference) input(i int) (input any, reached bool) {
	var arriving []link
	root := true
	for _, l := range r.s.links {
		if l.target == i {
			root = false
			if r.taken(l) {
				arriving = append(arriving, l)
			}
		}
	}
	if root || len(arriving) == 0 {
		return r.s.payload, root
	}
	if len(arriving) == 1 && arriving[0].into == "" {
		value, _ := r.carried(arriving[0])
		return value, true
	}
	merged := map[string]any{}
	for _, l := range arriving {
		value, ok := r.carried(l)
		if object, isObject := value.(map[string]any); isObject && l.into == "" {
			for key, member := range object {
				merged[key] = member
			}
		} else if l.into != "" && ok {
			merged[l.into] = value
		} else if value != nil {
			merged[name(l.source)] = value
		}
	}
	return merged, true
}

func (r *reference) carried(l link) (any, bool) {
	source := r.verdict(l.source)
	if source.status == run.NodeFailed {
		return map[string]any{"error": source.output}, true // compared without what else is told
	}
	if l.key == "m" && r.s.branches(l.source) == nil {
		object, _ := source.output.(map[string]any)
		value, ok := object["m"]
		return value, ok
	}
	return source.output, true
}

// results are what the output of a completed run may be: what any of the returns gave that
// completed, else what the nodes gave that led nowhere.
func (r *reference) results() (returned []string) {
	last := map[string]json.RawMessage{}
	for i, kind := range r.s.kinds {
		v := r.verdict(i)
		if v.status != run.NodeCompleted {
			continue
		}
		if kind == "return" || kind == "pass" {
			returned = append(returned, bare(json.RawMessage(text(v.output))))
		}
		if !slices.ContainsFunc(r.s.links, func(l link) bool { return l.source == i && r.taken(l) }) {
			last[name(i)] = json.RawMessage(text(v.output))
		}
	}
	switch {
	case len(returned) > 0:
		return returned
	case len(last) == 1:
		for _, only := range last {
			return []string{bare(only)}
		}
	}
	for id, output := range last {
		last[id] = json.RawMessage(bare(output))
	}
	return []string{bare(json.RawMessage(text(last)))}
}

// bare renders an output for comparison: of an error only its code.
func bare(output json.RawMessage) string {
	var tree any
	if err := json.Unmarshal(output, &tree); err != nil {
		return "not JSON: " + err.Error()
	}
	return text(withoutDetails(tree))
}

func withoutDetails(tree any) any {
	object, _ := tree.(map[string]any)
	for key, member := range object {
		object[key] = withoutDetails(member)
	}
	if problem, ok := object["error"].(map[string]any); ok && problem["code"] != nil {
		object["error"] = problem["code"]
	}
	return tree
}

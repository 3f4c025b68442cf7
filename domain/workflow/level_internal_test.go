package workflow

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
)

// levels are node types that need one.
type levels map[node.Type]process.Level

func (l levels) Lookup(t node.Type, _ node.SemVer) (node.NodeType, bool) {
	level, known := l[t]
	return node.NodeType{Type: t, Capabilities: node.Capabilities{Level: level}}, known
}

// builtIns are the node types of the gateway.
type builtIns struct{}

func (builtIns) Lookup(t node.Type, _ node.SemVer) (node.NodeType, bool) { return node.BuiltIn(t) }

func TestAGraphNeedsWhatReadsItsConfigurations(t *testing.T) {
	for config, want := range map[string]process.Level{`{"delayMs":"5"}`: 0, `{"delayMs":"5."}`: process.SecondRelease, `{"until":1}`: process.SecondRelease} {
		wait := Node{ID: "w", Type: "wait", Version: "1.0.0", Config: domain.RestoreDocument(config)}
		if got := RestoreGraph([]Node{wait}, nil).level(builtIns{}); got != want {
			t.Errorf("%s needs level %d, not %d", config, got, want)
		}
	}
}

func TestAGraphNeedsWhatHonoursItsNodesAttempts(t *testing.T) {
	for claim, n := range map[string]Node{"a policy": {Retry: &RetryPolicy{}}, "a time": {Timeout: new(time.Second)}} {
		if got := RestoreGraph([]Node{n}, nil).level(builtIns{}); got != process.SecondRelease {
			t.Errorf("a node with %s needs level %d", claim, got)
		}
	}
}

func TestAGraphNeedsTheHighestLevelOfItsNodeTypes(t *testing.T) {
	types := levels{"condition": 0, "loop": 2, "code": 3}
	for want, used := range map[process.Level][]string{0: {"condition"}, 2: {"loop", "condition", "loop"}, 3: {"loop", "code", "condition"}} {
		var nodes []Node
		for _, t := range used {
			nodes = append(nodes, Node{ID: NodeID(t), Type: t, Version: "1.0.0"})
		}
		if got := RestoreGraph(nodes, nil).level(types); got != want {
			t.Errorf("%v need level %d, not %d", used, got, want)
		}
	}
}

// The first release knows no link(), wherever it stands; a process that does not know a question takes none.
func TestWhatLinksToAnswersAndAsksWithAFormNeedsALevel(t *testing.T) {
	one := func(kind, version, config string) []Node {
		return []Node{{ID: "a", Type: kind, Version: version, Config: domain.RestoreDocument(config)}}
	}
	guarded := []Edge{{SourceNodeID: "a", TargetNodeID: "b", Condition: new(`link("a") !== ""`)}}
	types := node.RegistryFor("tenant_1", tenant.English, nil, nil)
	for claim, c := range map[string]struct {
		graph Graph
		want  process.Level
	}{
		"a configuration that calls it": {RestoreGraph(one("transform", "1.0.0", `{"expression":"link(\"a\")"}`), nil), process.SecondRelease},
		"with spaces and brackets":      {RestoreGraph(one("transform", "1.0.0", `{"expression":"(link) (\"a\")"}`), nil), process.SecondRelease},
		"a word":                        {RestoreGraph(one("transform", "1.0.0", `{"expression":"payload.link"}`), nil), 0},
		"an edge that calls it":         {RestoreGraph(one("transform", "1.0.0", `{}`), guarded), process.SecondRelease},
		"a question of today":           {RestoreGraph(one("input", "1.1.0", `{}`), nil), process.SecondRelease},
		"a question of before":          {RestoreGraph(one("input", "1.0.0", `{}`), nil), 0},
	} {
		if got := c.graph.level(types); got != c.want {
			t.Errorf("%s needs the level %d, not %d", claim, got, c.want)
		}
	}
}

package workflow

import (
	"regexp"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/process"
)

// level is what a process must have to run the graph, whose nodes have types that are known.
func (g Graph) level(types interface {
	Lookup(t node.Type, v node.SemVer) (node.NodeType, bool)
},
) (highest process.Level) {
	for _, e := range g.edges {
		if linksToAnswer(e.Guard()) {
			highest = process.SecondRelease
		}
	}
	for _, n := range g.nodes {
		if linksToAnswer(n.Config.String()) {
			highest = max(highest, process.SecondRelease)
		}
		if n.Retry != nil || n.Timeout != nil || n.Parent != "" {
			highest = max(highest, process.SecondRelease)
		}
		if version, err := node.ParseSemVer(n.Version); err == nil {
			kind, _ := types.Lookup(node.Type(n.Type), version)
			config, _ := object(n.Config)
			highest = max(highest, kind.LevelOf(config))
		}
	}
	return highest
}

// linkCall fits calls of [LinkFunction], and little else.
var linkCall = regexp.MustCompile(LinkFunction + `[\s)]*\(`)

// linksToAnswer says whether a text may call [LinkFunction], which the first release does not have.
func linksToAnswer(text string) bool { return linkCall.MatchString(text) }

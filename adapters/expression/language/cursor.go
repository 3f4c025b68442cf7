package language

import (
	"slices"

	"github.com/sluicehq/sluice/domain/typing"
)

// cursor finds what could stand at a place of a source, where a marker stands instead.
type cursor struct {
	marker string
	of     *typing.Type // what a member is read of
	space  *namespace   // whose member is read
	names  []string     // what an expression may begin with there, besides what is built in
}

func (c *cursor) at(name string) bool { return c != nil && name == c.marker }

// names lists the parameters, the innermost first, and the roots.
func (x *inference) names() []string {
	var names []string
	for _, scope := range slices.Backward(x.params) {
		names = append(names, sortedNames(scope)...)
	}
	return append(names, sortedNames(x.roots)...)
}

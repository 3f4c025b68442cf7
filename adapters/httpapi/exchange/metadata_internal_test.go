package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
)

// The path of a value takes a walk over its siblings, so that as many paths as a body has room
// for pairs would take seconds.
func TestMetadataWithFarTooManyPairsIsReadToTheBoundOnly(t *testing.T) {
	for what, value := range map[string]string{"wrong": "1", "right": `"x"`} {
		pairs := make([]string, 50_000)
		for i := range pairs {
			pairs[i] = fmt.Sprintf(`"%d":%s`, i, value)
		}
		body, err := jsonread.Parse([]byte(`{"metadata":{` + strings.Join(pairs, ",") + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		var r domain.Rules
		if p := ReadMetadata(body, &r); len(p.Pairs) > maxChangedPairs {
			t.Errorf("%s: %d pairs were read", what, len(p.Pairs))
		}
		if n := len(r.Violations()); n == 0 || n > domain.MaxViolations {
			t.Errorf("%s: %d violations", what, n)
		}
	}
}

package node

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:embed testdata/builtin-0.1.0.json
var builtInsOf010 []byte

//go:embed builtin.json
var builtInsNow []byte

// A version never changes: what a built-in node gains after its release, it has in another version.
// How forms show its fields is no part of that.
func TestReleasedVersionsOfBuiltInNodesHaveTheMembersThatTheyHad(t *testing.T) {
	released, now := membersByVersion(t, builtInsOf010), membersByVersion(t, builtInsNow)
	for _, version := range slices.Sorted(maps.Keys(released)) {
		if diff := cmp.Diff(released[version], now[version]); diff != "" {
			t.Errorf("%s (-released, +now):\n%s", version, diff)
		}
	}
}

// membersByVersion reads the schemas of node types, by type and version, without what forms are
// drawn with.
func membersByVersion(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var all []map[string]any
	if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	found := make(map[string]any)
	for _, one := range all {
		schemas := []any{one["inputSchema"], one["outputSchema"], one["configSchema"]}
		for _, s := range schemas {
			withoutDisplay(s)
		}
		found[one["type"].(string)+" "+one["version"].(string)] = schemas
	}
	return found
}

// withoutDisplay removes the members from field schemas that say how a field is shown. They are told
// from fields of such a name by being no schemas.
func withoutDisplay(schema any) {
	members, _ := schema.(map[string]any)
	for name, value := range members {
		if _, isSchema := value.(map[string]any); isSchema {
			withoutDisplay(value)
		} else if slices.Contains([]string{titleMember, placeholderMember, widgetMember, orderMember, enumLabelsMember}, name) {
			delete(members, name)
		}
	}
}

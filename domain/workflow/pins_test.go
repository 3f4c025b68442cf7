package workflow_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

func pins(text string) *domain.Document { return new(domain.RestoreDocument(text)) }

func TestPinsOfAVersionChangeWithoutItsContent(t *testing.T) {
	t.Parallel()
	st := version(t, sound()).State()
	first, second := st.Graph.Nodes()[0].ID, st.Graph.Nodes()[1].ID
	st.Active, st.PublishedAt = true, &noon
	ver := workflow.RestoreVersion(st)
	edit := func(p workflow.VersionPatch, want string) {
		t.Helper()
		if err := ver.Edit(p, counted()); err != nil || ver.Pins().String() != want {
			t.Errorf("the pins are %s, not %s: %v", ver.Pins(), want, err)
		}
	}
	both := fmt.Sprintf(`{%q:{"z":1,"a":[2]},%q:null}`, second, first)
	edit(workflow.VersionPatch{Pins: pins(both)}, both)
	edit(workflow.VersionPatch{Metadata: domain.MetadataPatch{Pairs: map[string]string{"a": "b"}}}, both)
	got := map[workflow.NodeID]string{}
	for id, output := range ver.Pinned() {
		got[id] = string(output)
	}
	if diff := cmp.Diff(map[workflow.NodeID]string{first: "null", second: `{"z":1,"a":[2]}`}, got); diff != "" {
		t.Error(diff)
	}
	wantError(t, ver.Edit(workflow.VersionPatch{Pins: pins(`{}`), Edges: new([]workflow.EdgeDraft)}, counted()), domain.Conflict, "version_published")
	edit(workflow.VersionPatch{Pins: pins(`{}`)}, `{}`)
	if !ver.Pins().Empty() || !ver.Graph().Equal(st.Graph) {
		t.Error("what the version does has changed")
	}
}

func TestPinsAreForNodesOfTheVersion(t *testing.T) {
	t.Parallel()
	ver := version(t, sound())
	known := ver.Graph().Nodes()[0].ID
	large := fmt.Sprintf(`{%q:%q}`, known, strings.Repeat("x", workflow.MaxPins))
	wantError(t, ver.Edit(workflow.VersionPatch{Pins: pins(large)}, counted()), domain.Invalid, "version_invalid", domain.Violation{
		Field: "pins", Code: domain.TooLarge, Message: fmt.Sprintf("must be at most %d bytes of JSON, not %d", workflow.MaxPins, len(large)),
	})
	nowhere := domain.Violation{Field: "pins.nowhere", Code: domain.Unknown, Message: `must be for a node of this version; there is no "nowhere"`}
	wantError(t, ver.Edit(workflow.VersionPatch{Pins: pins(fmt.Sprintf(`{"nowhere":1,%q:2}`, known))}, counted()), domain.Invalid, "version_invalid", nowhere)
	draft := sound()
	draft.Pins = pins(`{"nowhere":1}`)
	if _, err := workflow.NewVersion("wfv_1", nil, 1, draft, counted(), noon); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "pins.nowhere") {
		t.Errorf("a new version has pins of a node that it does not have: %v", err)
	}
	if !ver.Pins().Empty() {
		t.Errorf("after refusals the pins are %s", ver.Pins())
	}
}

// The pins of a node go with it, and one that is named before it comes is refused with the rest.
func TestPinsGoWithTheirNodes(t *testing.T) {
	t.Parallel()
	draft := sound()
	first, last := draft.Nodes[0].ID, draft.Nodes[len(draft.Nodes)-1].ID
	draft.Pins = pins(fmt.Sprintf(`{%q:1,%q:2}`, last, first))
	ver := version(t, draft)
	nodes, edges := draft.Nodes[:1], []workflow.EdgeDraft{}
	if err := ver.Edit(workflow.VersionPatch{Nodes: &nodes, Edges: &edges}, counted()); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(`{%q:1}`, first); strings.Replace(ver.Pins().String(), "2", "1", 1) != want || len(maps.Collect(ver.Pinned())) != 1 {
		t.Errorf("the pins are %s", ver.Pins())
	}
	orphaned := ver.State()
	orphaned.Pins = workflow.RestorePins(`{"gone":1}`)
	if left := maps.Collect(workflow.RestoreVersion(orphaned).Pinned()); len(left) != 0 {
		t.Errorf("there is sample data of nodes that are gone: %v", left)
	}
}

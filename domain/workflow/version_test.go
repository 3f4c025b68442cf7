package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

func sound() workflow.VersionDraft {
	return workflow.VersionDraft{
		Nodes: nodes(step("ask", "input", `{}`), step("sum", "transform", `{"expression": "input.value"}`)),
		Edges: edges(edge("ask", "sum")),
	}
}

func version(t testing.TB, d workflow.VersionDraft) *workflow.Version {
	t.Helper()
	ver, err := workflow.NewVersion("wfv_1", orders(t), 3, d, counted(), noon)
	if err != nil {
		t.Fatal(err)
	}
	return ver
}

func TestNewVersionIsADraftOfItsWorkflow(t *testing.T) {
	ver := version(t, sound())
	want := workflow.VersionState{
		ID: "wfv_1", Workflow: "wf_1", Tenant: owner, SubTenant: "shop", Number: 3,
		Graph: graph(t, sound().Nodes, sound().Edges), CreatedAt: noon, Revision: 1,
	}
	if diff := cmp.Diff(want, ver.State()); diff != "" {
		t.Error(diff)
	}
	if ver.Status() != workflow.StatusDraft {
		t.Errorf("status is %q", ver.Status())
	}
}

func TestNewVersionReportsEverythingAtOnce(t *testing.T) {
	malformed := []domain.Violation{
		{Field: "nodes[0].id", Message: "must be a string, not a number", Code: domain.WrongType},
		{Field: "nodes[2]", Message: "must be an object, not null", Code: domain.WrongType},
	}
	draft := workflow.VersionDraft{
		Nodes:     nodes(step("", "input", ""), step("", "input", ""), workflow.NodeDraft{}),
		Edges:     edges(edge("7", "7"), edge("7", "")),
		Malformed: malformed,
	}
	_, err := workflow.NewVersion("wfv_1", nil, 1, draft, counted(), noon)
	wantError(t, err, domain.Invalid, "version_invalid",
		malformed[0], malformed[1],
		domain.Violation{Field: "workflowId", Message: "must be the id of a workflow that exists", Code: domain.Unknown},
		domain.Violation{Field: "nodes[1].id", Message: "must not be empty", Code: domain.Required},
		// that there is no node "7" is not said: it may be the one whose id could not be read
		domain.Violation{Field: "edges[0].targetNodeId", Message: `must differ from sourceNodeId; an edge cannot lead from "7" back to itself`, Code: workflow.SelfEdge},
		domain.Violation{Field: "edges[1].targetNodeId", Message: "must not be empty; it names a node of this version", Code: domain.Required},
	)
}

func TestEdgesAreNotJudgedByIDsThatCouldNotBeRead(t *testing.T) {
	for _, field := range []string{"nodes", "nodes[0]", "nodes[0].id"} {
		wrong := domain.Violation{Field: field, Message: "must be something else", Code: domain.WrongType}
		draft := workflow.VersionDraft{Nodes: nodes(workflow.NodeDraft{}), Edges: edges(edge("a", "b")), Malformed: []domain.Violation{wrong}}
		_, err := workflow.NewVersion("wfv_1", orders(t), 1, draft, counted(), noon)
		wantError(t, err, domain.Invalid, "version_invalid", wrong)
	}
	for _, field := range []string{"edges[0].label", "nodes[0].config", "nodes[0].position.id", "nodes[0].config.a[0]", "nodes[0].config.a[0].id"} {
		wrong := domain.Violation{Field: field, Message: "must be something else", Code: domain.WrongType}
		draft := workflow.VersionDraft{Nodes: nodes(step("a", "", "")), Edges: edges(edge("a", "b")), Malformed: []domain.Violation{wrong}}
		_, err := workflow.NewVersion("wfv_1", orders(t), 1, draft, counted(), noon)
		wantError(t, err, domain.Invalid, "version_invalid", wrong, domain.Violation{
			Field: "edges[0].targetNodeId", Message: `must be the id of a node of this version; there is no "b"`, Code: workflow.UnknownNode,
		})
	}
}

func TestEditReplacesWhatThePatchNames(t *testing.T) {
	fresh := func() workflow.EdgeID { return "edge_new" }
	t.Run("edges that stay the same keep their id", func(t *testing.T) {
		ver := version(t, sound())
		p := workflow.VersionPatch{Edges: pointer(edges(on("ask", "onError", "sum"), edge("ask", "sum")))}
		if err := ver.Edit(p, fresh); err != nil {
			t.Fatal(err)
		}
		want := workflow.RestoreGraph(graph(t, sound().Nodes, sound().Edges).Nodes(), []workflow.Edge{
			{ID: "edge_new", SourceNodeID: "ask", TargetNodeID: "sum", SourceOutputKey: pointer("onError")},
			{ID: "edge_1", SourceNodeID: "ask", TargetNodeID: "sum"},
		})
		if diff := cmp.Diff(want.Edges(), ver.Graph().Edges()); diff != "" || !ver.Graph().Equal(want) {
			t.Error(diff)
		}
	})
	t.Run("the edges that stay are judged by the new nodes, and nothing changes then", func(t *testing.T) {
		ver := version(t, sound())
		before := ver.State()
		wantError(t, ver.Edit(workflow.VersionPatch{Nodes: pointer(nodes(step("ask", "input", "")))}, fresh),
			domain.Invalid, "version_invalid", domain.Violation{
				Field: "edges[0].targetNodeId", Message: `must be the id of a node of this version; there is no "sum"`, Code: workflow.UnknownNode,
			})
		if diff := cmp.Diff(before, ver.State()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("everything can go", func(t *testing.T) {
		ver := version(t, sound())
		if err := ver.Edit(workflow.VersionPatch{Nodes: new([]workflow.NodeDraft), Edges: new([]workflow.EdgeDraft)}, fresh); err != nil {
			t.Fatal(err)
		}
		if !ver.Graph().Equal(workflow.Graph{}) {
			t.Errorf("left: %v", ver.Graph().Nodes())
		}
	})
	t.Run("what was found while reading is reported", func(t *testing.T) {
		wrong := domain.Violation{Field: "nodes", Message: "must be an array, not a string", Code: domain.WrongType}
		err := version(t, sound()).Edit(workflow.VersionPatch{Malformed: []domain.Violation{wrong}}, fresh)
		wantError(t, err, domain.Invalid, "version_invalid", wrong)
	})
}

func TestLifeOfAVersion(t *testing.T) {
	ver, env := version(t, sound()), environment(t)
	if err := ver.CheckDeletable(); err != nil {
		t.Errorf("a draft cannot be deleted: %v", err)
	}
	if _, err := ver.Publish(env, noon); err != nil {
		t.Fatal(err)
	}
	published := ver.State()
	want := version(t, sound()).State()
	want.Active, want.PublishedAt = true, &noon
	if diff := cmp.Diff(want, published); diff != "" || ver.Status() != workflow.StatusActive {
		t.Errorf("published: %s", diff)
	}

	wantError(t, ver.CheckDeletable(), domain.Conflict, "version_active")
	wantError(t, ver.Edit(workflow.VersionPatch{}, counted()), domain.Conflict, "version_published")
	if _, err := ver.Publish(workflow.Environment{Expressions: goExpressions{}}, noon.Add(1)); err != nil {
		t.Errorf("publishing the active version again looks at the registry: %v", err)
	}
	if diff := cmp.Diff(published, ver.State()); diff != "" {
		t.Errorf("publishing the active version again is no no-op: %s", diff)
	}

	want.Active = false
	ver = workflow.RestoreVersion(want)
	if diff := cmp.Diff(want, ver.State()); diff != "" || ver.Status() != workflow.StatusInactive {
		t.Errorf("deactivated: %s", diff)
	}
	wantError(t, ver.Edit(workflow.VersionPatch{}, counted()), domain.Conflict, "version_published")
	if err := ver.CheckDeletable(); err != nil {
		t.Errorf("an inactive version cannot be deleted: %v", err)
	}

	later := noon.Add(3600e9)
	if _, err := ver.Publish(env, later); err != nil {
		t.Fatal(err)
	}
	if !ver.Active() || !ver.PublishedAt().Equal(later) {
		t.Errorf("published again: active %v, at %v", ver.Active(), ver.PublishedAt())
	}
}

func TestPublishReportsEveryFindingAndChangesNothing(t *testing.T) {
	ver := version(t, workflow.VersionDraft{Nodes: nodes(step("a", "inputt", ""), step("b", "condition", ""))})
	before := ver.State()
	_, err := ver.Publish(environment(t), noon)
	wantError(t, err, domain.Invalid, "version_not_publishable",
		domain.Violation{Field: "nodes[0].type", Message: `must name a node type of the registry; there is no "inputt"; did you mean "input"?`, Code: workflow.UnknownNodeType, Node: "a"},
		domain.Violation{Field: "nodes[1].config.condition", Message: "must be given: a string", Code: domain.Required, Node: "b"},
	)
	if diff := cmp.Diff(before, ver.State()); diff != "" {
		t.Error(diff)
	}
}

func TestRestoredVersionTellsItsState(t *testing.T) {
	at := noon
	s := workflow.VersionState{
		ID: "wfv_1", Workflow: "wf_1", Tenant: owner, SubTenant: "shop", Number: 3, Active: true, PublishedAt: &at,
		Graph: graph(t, sound().Nodes, sound().Edges), CreatedAt: morning, Revision: 7,
	}
	ver := workflow.RestoreVersion(s)
	got := workflow.VersionState{
		ID: ver.ID(), Workflow: ver.Workflow(), Tenant: ver.Tenant(), SubTenant: ver.SubTenant(), Number: ver.Number(),
		Graph: ver.Graph(), Active: ver.Active(), PublishedAt: ver.PublishedAt(), CreatedAt: ver.CreatedAt(), Revision: ver.Revision(),
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Error(diff)
	}
	at = morning
	*ver.State().PublishedAt, *ver.PublishedAt() = morning, morning
	if !ver.PublishedAt().Equal(noon) {
		t.Error("its time of publication can be changed from outside")
	}
}

func TestTheMetadataOfAPublishedVersionMayChange(t *testing.T) {
	st := version(t, sound()).State()
	st.Active, st.PublishedAt = true, &noon
	ver := workflow.RestoreVersion(st)
	team := domain.MetadataPatch{Pairs: map[string]string{"team": "billing"}}
	if err := ver.Edit(workflow.VersionPatch{Metadata: team}, counted()); err != nil {
		t.Fatal(err)
	}
	wantError(t, ver.Edit(workflow.VersionPatch{Metadata: domain.MetadataPatch{Clear: true}, Edges: new([]workflow.EdgeDraft)}, counted()),
		domain.Conflict, "version_published")
	tooLong := domain.MetadataPatch{Pairs: map[string]string{"": "v"}}
	wantError(t, ver.Edit(workflow.VersionPatch{Metadata: tooLong}, counted()), domain.Invalid, "version_invalid",
		domain.Violation{Field: "metadata.", Message: "must not be empty", Code: domain.Required})
	if got := ver.Metadata().String(); got != `{"team":"billing"}` || !ver.Graph().Equal(version(t, sound()).Graph()) {
		t.Errorf("the metadata is %s", got)
	}
}

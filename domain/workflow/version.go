package workflow

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Status says where a version is in its life.
type Status string

// The statuses of a version.
const (
	StatusDraft    Status = "draft"    // never published; its graph may change
	StatusActive   Status = "active"   // published, and the one of its workflow that triggers start
	StatusInactive Status = "inactive" // published before and replaced or switched off since
)

// Version is one numbered state of a workflow's graph: a draft until it is
// published, immutable afterwards. At most one version of a workflow is active;
// who publishes one deactivates the other in the same unit of work. Build one with
// [NewVersion] or [RestoreVersion].
type Version struct{ state VersionState }

// VersionState is everything a store keeps of a version.
type VersionState struct {
	ID          VersionID
	Workflow    ID `fact:"workflowId"`
	Tenant      tenant.ID
	SubTenant   tenant.SubTenantID `fact:"subTenantId"` // that of the workflow
	Number      int                `fact:"version"`     // 1, 2, 3 … within the workflow
	Graph       Graph              `fact:"-"`
	Metadata    domain.Metadata    // its own, which may change when the graph may not any more
	Pins        Pins               `fact:"-"` // likewise
	Active      bool               `fact:"isActive"`
	Level       process.Level      `fact:"-"` // what a process must have to run it; 0 for a draft
	PublishedAt *time.Time         // when it last became active, nil for a draft
	CreatedAt   time.Time
	Revision    int64 // 1 at first; a store raises it with every update and refuses a stale one
}

// VersionDraft is what a version is made of.
type VersionDraft struct {
	Nodes     []NodeDraft // at most [MaxNodes]
	Edges     []EdgeDraft // at most [MaxEdges]
	Metadata  domain.MetadataPatch
	Pins      *domain.Document   // by node, at most [MaxPins]; nil for none
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

// VersionPatch changes a version. A nil member stays as it is; one that is there
// replaces all nodes, all edges or all pins. The pins of nodes that go are dropped.
type VersionPatch struct {
	Nodes     *[]NodeDraft
	Edges     *[]EdgeDraft
	Metadata  domain.MetadataPatch
	Pins      *domain.Document
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

// NewVersion makes a draft with the given number. newEdgeID is called once
// for each edge. A nil wf means that the client named a workflow that does not
// exist. Every violation is reported at once, with the code version_invalid.
func NewVersion(id VersionID, wf *Workflow, number int, d VersionDraft, newEdgeID func() EdgeID, now time.Time) (*Version, error) {
	malformed := d.Malformed
	if wf == nil {
		absent := domain.Violation{Field: "workflowId", Message: "must be the id of a workflow that exists", Code: domain.Unknown}
		malformed = append(slices.Clone(malformed), absent)
	}
	nodes := nodesOf(d.Nodes)
	kept, found := notes{}.revised(malformed, VersionPatch{Metadata: d.Metadata, Pins: d.Pins}, nodes)
	g, err := buildGraph(found, nodes, edgesOf(d.Edges), newEdgeID)
	if err != nil {
		return nil, err
	}
	return &Version{VersionState{
		ID: id, Workflow: wf.ID(), Tenant: wf.Tenant(), SubTenant: wf.SubTenant(), Number: number, Graph: g,
		Metadata: kept.metadata, Pins: kept.pins, CreatedAt: now, Revision: 1,
	}}, nil
}

// RestoreVersion rebuilds a version from what a store kept, without applying any
// rule.
func RestoreVersion(s VersionState) *Version {
	s.PublishedAt = domain.CopyOf(s.PublishedAt)
	return &Version{s}
}

// Facts are what the audit log says of it.
func (v *Version) Facts() domain.Facts { return v.FactsSince(nil, nil) }

// FactsSince are its facts where those of an earlier state are known: to hash a large graph takes long, and most changes leave
// it as it is.
func (v *Version) FactsSince(earlier *Version, known domain.Facts) domain.Facts {
	facts := domain.FactsOf(v.state)
	if graph, ok := known["graph"]; ok && earlier.state.Graph.Equal(v.state.Graph) {
		facts["graph"] = graph
	} else {
		facts["graph"] = domain.DigestFact(v.state.Graph.facts())
	}
	if !v.state.Pins.Empty() { // what payloads are like
		facts["pins"] = domain.DigestFact(v.state.Pins.String())
	}
	return facts
}

// State returns what a store has to keep.
func (v *Version) State() VersionState {
	s := v.state
	s.PublishedAt = domain.CopyOf(s.PublishedAt)
	return s
}

// Edit replaces the nodes, the edges or both of a draft, and changes the metadata and the pins
// of any version. A published version is a Conflict with the code version_published, unless the
// patch is about those alone. Every violation of the resulting graph
// is reported with the code version_invalid, and nothing changes then. An edge
// that is the same as before keeps its id; newEdgeID is called for each other one.
func (v *Version) Edit(p VersionPatch, newEdgeID func() EdgeID) error {
	if v.Status() != StatusDraft && !p.onlyNotes() {
		return domain.Fail(domain.Conflict, "version_published",
			"Version %d was published and cannot change any more. Create a new version instead.", v.state.Number)
	}
	nodes, edges := v.state.Graph.Nodes(), v.state.Graph.Edges()
	if p.Nodes != nil {
		nodes = nodesOf(*p.Nodes)
	}
	if p.Edges != nil {
		kept := make(map[[6]string]EdgeID, len(edges))
		for _, e := range edges {
			kept[e.content()] = e.ID
		}
		edges = edgesOf(*p.Edges)
		for i := range edges {
			edges[i].ID = kept[edges[i].content()]
		}
	}
	kept, found := notes{v.state.Metadata, v.state.Pins}.revised(p.Malformed, p, nodes)
	if p.onlyNotes() {
		if err := invalid(versionInvalid, versionInvalidMessage, found, nil); err != nil {
			return err
		}
		v.state.Metadata, v.state.Pins = kept.metadata, kept.pins
		return nil
	}
	g, err := buildGraph(found, nodes, edges, newEdgeID)
	if err != nil {
		return err
	}
	v.state.Graph, v.state.Metadata, v.state.Pins = g, kept.metadata, kept.pins
	return nil
}

// onlyNotes says whether the patch is about what a published version lets change, and nothing
// else.
func (p VersionPatch) onlyNotes() bool {
	return p.Nodes == nil && p.Edges == nil && (p.Metadata.Clear || len(p.Metadata.Pairs) > 0 || p.Pins != nil)
}

// notes are what a version bears that is no part of what it does.
type notes struct {
	metadata domain.Metadata
	pins     Pins
}

// revised applies a patch, and appends what is wrong with it to what was found.
func (n notes) revised(found []domain.Violation, p VersionPatch, nodes []Node) (notes, []domain.Violation) {
	var r domain.Rules
	r.Add(found...)
	n = notes{n.metadata.Revised(&r, p.Metadata), n.pins.revised(&r, p.Pins, nodes)}
	return n, r.Violations()
}

// CheckRunnable says why a draft cannot be run: with the code version_not_runnable, of nodes
// whose types are none of the registry, as those that the tenant has disabled, and of bodies
// that nothing runs. All else shows when a run comes to it. A version that was published goes on whatever the registry has.
func (v *Version) CheckRunnable(registry node.Registry) error {
	if v.Status() != StatusDraft {
		return nil
	}
	g := v.state.Graph
	c := &checker{g: g, env: Environment{Registry: registry}, names: namesOf(registry), steps: make([]step, len(g.nodes))}
	for i, n := range g.nodes {
		c.steps[i].kind, c.steps[i].known = c.lookup(nodeSubject(i, n), n)
	}
	c.checkBodies()
	return notRunnable(c)
}

// CheckNodeRunnable says of one node of a draft what CheckRunnable says of its type.
func (v *Version) CheckNodeRunnable(registry node.Registry, id NodeID) error {
	i, known := v.state.Graph.index[id]
	if v.Status() != StatusDraft || !known {
		return nil
	}
	c := &checker{g: v.state.Graph, env: Environment{Registry: registry}, names: namesOf(registry)}
	c.lookup(nodeSubject(i, c.g.nodes[i]), c.g.nodes[i])
	return notRunnable(c)
}

func notRunnable(c *checker) error {
	if err := invalid("version_not_runnable", "The workflow version cannot be run.", nil, c.found.list); err != nil {
		return err
	}
	return nil
}

// Publish makes the version the active one: a draft, or one that was published
// before. The active version stays as it is, whatever stands against it by now.
// Everything that [Check] finds is reported as an Invalid error with the code
// version_not_publishable, which bears the warnings, too, and nothing changes then.
func (v *Version) Publish(env Environment, now time.Time) (warnings []Finding, err error) {
	if v.state.Active {
		env.CompileCode = nil // which warns of nothing
		return Check(v.state.Graph, env).Warnings, nil
	}
	found := Check(v.state.Graph, env)
	if err := invalid("version_not_publishable", "The workflow version cannot be published yet.", nil, found.Details); err != nil {
		err.Violations, err.Warnings = located(found.Details), located(found.Warnings)
		return nil, err
	}
	v.state.Active, v.state.PublishedAt, v.state.Level = true, &now, v.state.Graph.level(env.Registry)
	return found.Warnings, nil
}

// SetNumber gives a version that is not stored yet its number.
func (v *Version) SetNumber(n int) { v.state.Number = n }

// CheckDeletable returns a Conflict with the code version_active when the version
// is the active one, which triggers may start at any time.
func (v *Version) CheckDeletable() error {
	if v.state.Active {
		return domain.Fail(domain.Conflict, "version_active",
			"Version %d is the active one and cannot be deleted. Publish another version first.", v.state.Number)
	}
	return nil
}

// Status says where the version is in its life.
func (v *Version) Status() Status {
	switch {
	case v.state.Active:
		return StatusActive
	case v.state.PublishedAt != nil:
		return StatusInactive
	}
	return StatusDraft
}

// ID identifies the version.
func (v *Version) ID() VersionID { return v.state.ID }

// Workflow is the workflow it is a version of.
func (v *Version) Workflow() ID { return v.state.Workflow }

// Tenant is the owner.
func (v *Version) Tenant() tenant.ID { return v.state.Tenant }

// SubTenant is that of the workflow, empty for none.
func (v *Version) SubTenant() tenant.SubTenantID { return v.state.SubTenant }

// Number counts the versions of the workflow from 1.
func (v *Version) Number() int { return v.state.Number }

// Graph is what the version does.
func (v *Version) Graph() Graph { return v.state.Graph }

// Metadata is what the tenant keeps with the version.
func (v *Version) Metadata() domain.Metadata { return v.state.Metadata }

// Pins are sample data for trying the version.
func (v *Version) Pins() Pins { return v.state.Pins }

// Active says whether the version is the one that triggers start.
func (v *Version) Active() bool { return v.state.Active }

// GivesTokens says whether a run of the version may wait for an answer, for which it gives out a token.
func (v *Version) GivesTokens(registry node.Registry) bool {
	return slices.ContainsFunc(v.state.Graph.nodes, func(n Node) bool {
		version, err := node.ParseSemVer(n.Version)
		if err != nil {
			return false
		}
		kind, known := registry.Lookup(node.Type(n.Type), version)
		return known && kind.CanPause && n.Type != string(node.Wait)
	})
}

// Level is what a process must have to run the version: the highest that one of its node
// types needs. It is 0 for a draft.
func (v *Version) Level() process.Level { return v.state.Level }

// PublishedAt is when the version last became active, nil for a draft.
func (v *Version) PublishedAt() *time.Time { return domain.CopyOf(v.state.PublishedAt) }

// CreatedAt is when the version was made.
func (v *Version) CreatedAt() time.Time { return v.state.CreatedAt }

// Revision counts the version's changes.
func (v *Version) Revision() int64 { return v.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (v *Version) Saved() { v.state.Revision++ }

package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// createVersion answers POST /workflow-versions.
func (a *API) createVersion(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadSaved[versionBody](c, versionDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[inbound.CheckedVersion]{
		Status: http.StatusCreated, Render: renderVersion, Revision: revisionOfVersion,
		Run: func(idempotency domain.IdempotencyKey) (inbound.CheckedVersion, error) {
			return a.ports.Versions.Create(c.Request.Context(), who, idempotency, draft)
		},
	})
}

func versionDraft(body jsonread.Object) inbound.VersionDraft {
	var r domain.Rules
	id, sent := body.String("workflowId", &r)
	r.Check(sent && id != "", "workflowId", domain.Required, "must be given: the id of the workflow it is a version of")
	draft := inbound.VersionDraft{Workflow: exchange.KnownID[workflow.ID](id, workflow.IDPrefix)}
	draft.Nodes, draft.Edges = readNodes(body, &r), readEdges(body, &r)
	draft.Metadata, draft.Pins = exchange.ReadMetadata(body, &r), readPins(body, &r)
	draft.Malformed = r.Violations()
	return draft
}

// readPins reads the member pins, nil when it is absent; null takes all of them away.
func readPins(body jsonread.Object, r *domain.Rules) *domain.Document {
	if !body.Has("pins") {
		return nil
	}
	var pins domain.Document
	if !body.IsNull("pins") {
		pins = documentOrEmpty(body, "pins", r)
	}
	return &pins
}

func revisionOfVersion(ver inbound.CheckedVersion) int64 { return ver.Revision() }

// readNodes reads the member nodes; nil when it is absent.
func readNodes(body jsonread.Object, r *domain.Rules) []workflow.NodeDraft {
	list, present := body.OptionalArray("nodes", r)
	if !present {
		return nil
	}
	if !fits(list, "nodes", workflow.MaxNodes, r) {
		return []workflow.NodeDraft{}
	}
	objects := list.Objects(r)
	nodes := make([]workflow.NodeDraft, len(objects))
	for i, o := range objects {
		n := &nodes[i]
		id, _ := o.String("id", r)
		n.ID = workflow.NodeID(id)
		if parent, _ := o.NullableString("parentId", r); parent != nil {
			n.Parent = workflow.NodeID(*parent)
		}
		n.Type, _ = o.String("type", r)
		n.Version, _ = o.String("version", r)
		n.Name, _ = o.String("name", r)
		n.Description, _ = o.NullableString("description", r)
		n.Config = documentOrEmpty(o, "config", r)
		o = o.OfForm()
		n.InputSchema = documentOrEmpty(o, "inputSchema", r)
		n.OutputSchema = documentOrEmpty(o, "outputSchema", r)
		n.Retry, n.Timeout = readAttempts(o, r)
		if position, ok := o.OptionalObject("position", r); ok {
			n.Position.X, _ = position.Number("x", r)
			n.Position.Y, _ = position.Number("y", r)
		}
	}
	return nodes
}

// readAttempts reads how a node is attempted.
func readAttempts(o jsonread.Object, r *domain.Rules) (retry *workflow.RetryPolicy, timeout *time.Duration) {
	if o.OptionalInt("timeoutMs", r) != nil {
		timeout = new(readMilliseconds(o, "timeoutMs", workflow.MinAttemptTimeout, r))
	}
	policy, ok := o.OptionalObject("retryPolicy", r)
	if !ok {
		return nil, timeout
	}
	for _, name := range []string{"maxRetries", "backoffMs", "maxBackoffMs"} {
		r.Check(policy.Has(name), domain.Member(policy.Path(), name), domain.Required, "must be given: a whole number")
	}
	most, _ := policy.Int("maxRetries", r)
	return &workflow.RetryPolicy{
		MaxRetries: most, Backoff: readMilliseconds(policy, "backoffMs", workflow.MinBackoff, r), MaxBackoff: readMilliseconds(policy, "maxBackoffMs", workflow.MinMaxBackoff, r),
	}, timeout
}

// fits says whether a list is no longer than it may be, before anything is made of it.
func fits(list jsonread.Array, field string, most int, r *domain.Rules) bool {
	n := list.Len()
	r.Check(n <= most, field, domain.TooLong, "must hold at most %d %s, not %d", most, field, n)
	return n <= most
}

// documentOrEmpty reads an optional document: a draft may be saved without it.
func documentOrEmpty(o jsonread.Object, member string, r *domain.Rules) domain.Document {
	if doc := o.OptionalDocument(member, r); doc != nil {
		return *doc
	}
	return domain.Document{}
}

// readEdges reads the member edges; nil when it is absent.
func readEdges(body jsonread.Object, r *domain.Rules) []workflow.EdgeDraft {
	list, present := body.OptionalArray("edges", r)
	if !present {
		return nil
	}
	if !fits(list, "edges", workflow.MaxEdges, r) {
		return []workflow.EdgeDraft{}
	}
	objects := list.Objects(r)
	edges := make([]workflow.EdgeDraft, len(objects))
	for i, o := range objects {
		e := &edges[i]
		source, _ := o.String("sourceNodeId", r)
		target, _ := o.String("targetNodeId", r)
		e.SourceNodeID, e.TargetNodeID = workflow.NodeID(source), workflow.NodeID(target)
		e.Condition, _ = o.NullableString("condition", r)
		e.Label, _ = o.NullableString("label", r)
		e.SourceOutputKey, _ = o.NullableString("sourceOutputKey", r)
		e.TargetInputKey, _ = o.NullableString("targetInputKey", r)
	}
	return edges
}

// getVersion answers GET /workflow-versions/{id} and GET /workflows/versions/{versionId}.
func (a *API) getVersion(c *gin.Context, who tenant.Caller) error {
	ver, err := a.ports.Versions.Get(c.Request.Context(), who, versionID(c))
	return exchange.AnswerRecord(c, ver, err, renderVersion)
}

// versionID reads the version's identifier, which has another name below /workflows.
func versionID(c *gin.Context) workflow.VersionID {
	name := "id"
	if c.Param("versionId") != "" {
		name = "versionId"
	}
	return exchange.PathID[workflow.VersionID](c, name, workflow.VersionIDPrefix)
}

// listVersions answers GET /workflow-versions, whose parameter workflowId names the
// workflow.
func (a *API) listVersions(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, workflow.VersionSortFields()...)
	if err != nil {
		return err
	}
	id, _ := l.Params.String("workflowId", &l.Rules)
	l.Rules.Check(id != "", "workflowId", domain.Required, "must be given: the id of the workflow whose versions are listed")
	return a.answerVersions(c, who, l, id)
}

// listVersionsOfWorkflow answers GET /workflows/{id}/versions.
func (a *API) listVersionsOfWorkflow(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, workflow.VersionSortFields()...)
	if err != nil {
		return err
	}
	return a.answerVersions(c, who, l, c.Param("id"))
}

func (a *API) answerVersions(c *gin.Context, who tenant.Caller, l *exchange.ListRequest, of string) error {
	filter := workflow.VersionFilter{Workflow: exchange.KnownID[workflow.ID](of, workflow.IDPrefix), Active: l.IsActive, Metadata: l.Metadata()}
	return exchange.AnswerLargeList(c, who, l, exchange.LargeList[inbound.CheckedVersion]{
		Render: renderVersion, Write: writeVersion,
		Read: func(q domain.Query) (domain.Page[inbound.CheckedVersion], error) {
			return a.ports.Versions.List(c.Request.Context(), who, filter, q)
		},
	})
}

// updateVersion answers PATCH /workflow-versions/{id}.
func (a *API) updateVersion(c *gin.Context, who tenant.Caller) error {
	patch, err := exchange.ReadSaved[versionBody](c, versionPatch)
	if err != nil {
		return err
	}
	ver, err := a.ports.Versions.Update(c.Request.Context(), who, versionID(c), exchange.Expected(c), patch)
	return exchange.AnswerRecord(c, ver, err, renderVersion)
}

func versionPatch(body jsonread.Object) workflow.VersionPatch {
	var r domain.Rules
	var patch workflow.VersionPatch
	if nodes := readNodes(body, &r); nodes != nil {
		patch.Nodes = &nodes
	}
	if edges := readEdges(body, &r); edges != nil {
		patch.Edges = &edges
	}
	patch.Metadata, patch.Pins = exchange.ReadMetadata(body, &r), readPins(body, &r)
	patch.Malformed = r.Violations()
	return patch
}

// deleteVersion answers DELETE /workflow-versions/{id}.
func (a *API) deleteVersion(c *gin.Context, who tenant.Caller) error {
	return exchange.Delete(c, func() error {
		return a.ports.Versions.Delete(c.Request.Context(), who, versionID(c), exchange.Expected(c))
	})
}

package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// customNodeBody is a custom node as its tenant sees it.
type customNodeBody struct {
	ID           string                     `json:"id"`
	TenantID     string                     `json:"tenantId"`
	Type         string                     `json:"type"`
	Name         string                     `json:"name"`
	Description  string                     `json:"description,omitempty"`
	Version      string                     `json:"version"`
	InputSchema  node.Declarations          `json:"inputSchema"`
	OutputSchema node.Declarations          `json:"outputSchema"`
	ConfigSchema node.Declarations          `json:"configSchema"`
	Endpoint     string                     `json:"endpoint,omitempty"`
	CanPause     bool                       `json:"canPause"`
	IsActive     bool                       `json:"isActive"`
	Metadata     json.RawMessage            `json:"metadata"`
	Translations map[string]translationBody `json:"translations"`
	Health       nodeHealthBody             `json:"health"`
	NodeSecret   string                     `json:"nodeSecret,omitempty"`
	CreatedAt    string                     `json:"createdAt"`
	UpdatedAt    string                     `json:"updatedAt"`
}

type translationBody struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

// nodeHealthBody is what the last heartbeat to a custom node's endpoint found.
type nodeHealthBody struct {
	Status    node.HealthStatus `json:"status"`
	CheckedAt string            `json:"checkedAt,omitempty"`
	LatencyMs *int64            `json:"latencyMs,omitempty"`
	Code      string            `json:"code,omitempty"`
	Message   string            `json:"message,omitempty"`
}

func nodeHealthBodyOf(h node.Health) nodeHealthBody {
	body := nodeHealthBody{Status: h.Status(), Code: h.Code, Message: h.Message}
	if body.Status != node.HealthUnknown {
		body.CheckedAt, body.LatencyMs = exchange.Timestamp(h.CheckedAt), new(h.Latency.Milliseconds())
	}
	return body
}

func customNodeBodyOf(n inbound.CustomNode) customNodeBody {
	st := n.State()
	body := customNodeBody{
		ID: string(st.ID), TenantID: string(st.Tenant), Type: string(st.Type), Name: st.Name, Description: st.Description,
		Version: st.Version, InputSchema: st.InputSchema, OutputSchema: st.OutputSchema, ConfigSchema: st.ConfigSchema,
		Endpoint: st.Endpoint, CanPause: st.CanPause, IsActive: st.IsActive, Metadata: exchange.RenderMetadata(st.Metadata), Translations: make(map[string]translationBody),
		Health: nodeHealthBodyOf(n.Health), CreatedAt: exchange.Timestamp(st.CreatedAt), UpdatedAt: exchange.Timestamp(st.UpdatedAt),
	}
	for l, t := range st.Translations {
		body.Translations[string(l)] = translationBody(t)
	}
	return body
}

func renderCustomNode(n inbound.CustomNode) any { return customNodeBodyOf(n) }

func renderMadeCustomNode(made inbound.MadeCustomNode) any {
	body := customNodeBodyOf(made.CustomNode)
	if made.Secret != nil {
		body.NodeSecret = made.Secret.Reveal()
	}
	return body
}

// recordCustomNode is what a repeat of the request that made a custom node gets: a secret
// is shown once.
var recordCustomNode = exchange.Record(func(made inbound.MadeCustomNode) any { return customNodeBodyOf(made.CustomNode) })

// createCustomNode answers POST /custom-nodes.
func (a *API) createCustomNode(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadDocuments[customNodeBody](c, customNodeDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[inbound.MadeCustomNode]{
		Status: http.StatusCreated, Render: renderMadeCustomNode, Record: recordCustomNode,
		Run: func(idempotency domain.IdempotencyKey) (inbound.MadeCustomNode, error) {
			return a.ports.CustomNodes.Create(c.Request.Context(), who, idempotency, draft)
		},
	})
}

func customNodeDraft(body jsonread.Object) node.CustomDraft {
	var r domain.Rules
	var d node.CustomDraft
	d.Type, _ = body.String("type", &r)
	d.Name, _ = body.String("name", &r)
	d.Version, _ = body.String("version", &r)
	d.Description, d.Endpoint = textOrNone(body, "description", &r), textOrNone(body, "endpoint", &r)
	d.InputSchema, _ = readSchema(body, "inputSchema", &r)
	d.OutputSchema, _ = readSchema(body, "outputSchema", &r)
	d.ConfigSchema, _ = readSchema(body, "configSchema", &r)
	if pauses := body.OptionalBool("canPause", &r); pauses != nil {
		d.CanPause = *pauses
	}
	d.IsActive = body.OptionalBool("isActive", &r)
	d.Metadata = exchange.ReadMetadata(body, &r)
	d.Translations = readTranslations(body, &r)
	d.Malformed = r.Violations()
	return d
}

// textOrNone reads an optional text; null and absence are the empty one.
func textOrNone(body jsonread.Object, member string, r *domain.Rules) string {
	if text, _ := body.NullableString(member, r); text != nil {
		return *text
	}
	return ""
}

// changedText reads a text that a patch changes: nil leaves it, null takes it away.
func changedText(body jsonread.Object, member string, r *domain.Rules) *string {
	text, present := body.NullableString(member, r)
	if present && text == nil {
		return new(string)
	}
	return text
}

// changedSchema reads a schema that a patch changes; nil leaves it.
func changedSchema(body jsonread.Object, member string, r *domain.Rules) *node.Declarations {
	schema, present := readSchema(body, member, r)
	if !present {
		return nil
	}
	return &schema
}

// readSchema reads an optional object of field schemas.
func readSchema(body jsonread.Object, member string, r *domain.Rules) (schema node.Declarations, present bool) {
	doc := body.OptionalDocument(member, r)
	if doc == nil {
		return nil, false
	}
	return node.ReadDeclarations(r, member, []byte(doc.String())), true
}

// readTranslations reads the optional member translations: an object from language
// to name and description. nil when it is absent.
func readTranslations(body jsonread.Object, r *domain.Rules) map[tenant.Language]node.Translation {
	languages, present := body.OptionalObject("translations", r)
	if !present {
		return nil
	}
	translations := make(map[tenant.Language]node.Translation)
	for l, value := range languages.All() {
		o, ok := value.Object(r)
		if !ok {
			continue
		}
		var t node.Translation
		if name := o.OptionalString("name", r); name != nil {
			t.Name = *name
		}
		if description := o.OptionalString("description", r); description != nil {
			t.Description = *description
		}
		translations[tenant.Language(l)] = t
	}
	return translations
}

func customNodeID(c *gin.Context) node.CustomID {
	return exchange.PathID[node.CustomID](c, "id", node.CustomIDPrefix)
}

// getCustomNode answers GET /custom-nodes/{id}.
func (a *API) getCustomNode(c *gin.Context, who tenant.Caller) error {
	n, err := a.ports.CustomNodes.Get(c.Request.Context(), who, customNodeID(c))
	return exchange.Answer(c, n, err, renderCustomNode)
}

// listCustomNodes answers GET /custom-nodes.
func (a *API) listCustomNodes(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, node.CustomSortFields()...)
	if err != nil {
		return err
	}
	filter := node.CustomFilter{Active: l.IsActive, Metadata: l.Metadata(), Search: l.Search}
	return exchange.AnswerLargeList(c, who, l, exchange.LargeList[inbound.CustomNode]{
		Render: renderCustomNode,
		Read: func(q domain.Query) (domain.Page[inbound.CustomNode], error) {
			return a.ports.CustomNodes.List(c.Request.Context(), who, filter, q)
		},
	})
}

// updateCustomNode answers PATCH /custom-nodes/{id}.
func (a *API) updateCustomNode(c *gin.Context, who tenant.Caller) error {
	patch, err := exchange.ReadDocuments[customNodeBody](c, customNodePatch)
	if err != nil {
		return err
	}
	n, err := a.ports.CustomNodes.Update(c.Request.Context(), who, customNodeID(c), patch)
	return exchange.Answer(c, n, err, renderCustomNode)
}

func customNodePatch(body jsonread.Object) node.CustomPatch {
	var r domain.Rules
	p := node.CustomPatch{
		Name: body.OptionalString("name", &r), Description: changedText(body, "description", &r),
		Version: body.OptionalString("version", &r), InputSchema: changedSchema(body, "inputSchema", &r),
		OutputSchema: changedSchema(body, "outputSchema", &r), ConfigSchema: changedSchema(body, "configSchema", &r),
		Endpoint: changedText(body, "endpoint", &r), CanPause: body.OptionalBool("canPause", &r),
		IsActive: body.OptionalBool("isActive", &r), Metadata: exchange.ReadMetadata(body, &r), Translations: readTranslations(body, &r),
	}
	p.Malformed = r.Violations()
	return p
}

// checkCustomNode answers POST /custom-nodes/{id}/check.
func (a *API) checkCustomNode(c *gin.Context, who tenant.Caller) error {
	return exchange.ExecuteWithoutBody[customNodeBody](c, who, exchange.Command[inbound.CustomNode]{
		Status: http.StatusOK, Render: renderNodeHealth,
		Run: func(idempotency domain.IdempotencyKey) (inbound.CustomNode, error) {
			return a.ports.NodeChecks.Check(c.Request.Context(), who, idempotency, customNodeID(c))
		},
	})
}

func renderNodeHealth(n inbound.CustomNode) any { return nodeHealthBodyOf(n.Health) }

// deleteCustomNode answers DELETE /custom-nodes/{id}.
func (a *API) deleteCustomNode(c *gin.Context, who tenant.Caller) error {
	return exchange.Delete(c, func() error {
		return a.ports.CustomNodes.Delete(c.Request.Context(), who, customNodeID(c))
	})
}

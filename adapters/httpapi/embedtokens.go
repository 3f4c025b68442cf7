package httpapi

import (
	"cmp"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// narrowingBody is what limits a key to a part of its tenant.
type narrowingBody struct {
	SubTenantID string         `json:"subTenantId,omitempty"`
	Permissions []tenant.Right `json:"permissions,omitempty"`
	WorkflowIDs []string       `json:"workflowIds,omitempty"`
	NodeTypes   []string       `json:"nodeTypes,omitempty"`
	Subject     string         `json:"subject,omitempty"`
	Origins     []string       `json:"origins,omitempty"`
	Language    string         `json:"language,omitempty"`
}

func narrowingBodyOf(n tenant.Narrowing) narrowingBody {
	body := narrowingBody{
		Permissions: n.Rights, WorkflowIDs: n.Workflows, NodeTypes: n.NodeTypes, Subject: n.Subject, Origins: n.Origins, Language: string(n.Language),
	}
	if n.SubTenant != nil {
		body.SubTenantID = string(*n.SubTenant)
	}
	return body
}

// embedTokenBody is an embed token as clients see it. The token itself stands only on the
// first answer to the request that made it.
type embedTokenBody struct {
	ID string `json:"id"`
	narrowingBody
	Token      string `json:"token,omitempty"`
	LastFour   string `json:"lastFour"`
	CreatedAt  string `json:"createdAt"`
	LastUsedAt string `json:"lastUsedAt,omitempty"`
	ExpiresAt  string `json:"expiresAt"`
	RevokedAt  string `json:"revokedAt,omitempty"`
}

func embedTokenBodyOf(k *tenant.APIKey) embedTokenBody {
	return embedTokenBody{
		ID: string(k.ID()), narrowingBody: narrowingBodyOf(k.Narrowing()), LastFour: k.LastFour(), CreatedAt: exchange.Timestamp(k.CreatedAt()),
		LastUsedAt: exchange.OptionalTimestamp(k.LastUsedAt()), ExpiresAt: exchange.OptionalTimestamp(k.ExpiresAt()), RevokedAt: exchange.OptionalTimestamp(k.RevokedAt()),
	}
}

func renderEmbedToken(k *tenant.APIKey) any { return embedTokenBodyOf(k) }

func renderIssuedToken(issued inbound.IssuedKey) any {
	body := embedTokenBodyOf(issued.Key)
	body.Token = issued.Text.Reveal()
	return body
}

// createEmbedToken answers POST /embed-tokens.
func (a *API) createEmbedToken(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadResource[embedTokenRequest](c, embedTokenDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[inbound.IssuedKey]{
		Status: http.StatusCreated, Render: renderIssuedToken, Record: exchange.Record(embedTokenBodyOf),
		Run: func(idempotency domain.IdempotencyKey) (inbound.IssuedKey, error) {
			return a.ports.EmbedTokens.Issue(c.Request.Context(), who, idempotency, draft)
		},
	})
}

// embedTokenRequest has what a request for a token may hold: what its answer bears, and how
// its permissions and its end can be said otherwise.
type embedTokenRequest struct {
	embedTokenBody
	Preset           string `json:"preset"`
	ExpiresInSeconds int    `json:"expiresInSeconds"`
}

func embedTokenDraft(body jsonread.Object) tenant.EmbedTokenDraft {
	var r domain.Rules
	var d tenant.EmbedTokenDraft
	text := func(name string) string {
		if given := body.OptionalString(name, &r); given != nil {
			return *given
		}
		return ""
	}
	d.SubTenant = (*tenant.SubTenantID)(body.OptionalString("subTenantId", &r))
	d.Rights = readRights(body, &r)
	d.Preset = (*tenant.Preset)(body.OptionalString("preset", &r))
	d.Workflows, d.NodeTypes, d.Origins = readTexts(body, "workflowIds", &r), readTexts(body, "nodeTypes", &r), readTexts(body, "origins", &r)
	d.Subject, d.Language = text("subject"), tenant.Language(text("language"))
	if seconds := body.OptionalInt("expiresInSeconds", &r); seconds != nil {
		life := time.Duration(*seconds) * time.Second
		d.Life = &life
	}
	d.Malformed = r.Violations()
	return d
}

// readTexts reads an optional list of texts; nil when it is absent.
func readTexts(body jsonread.Object, name string, r *domain.Rules) []string {
	list, present := body.OptionalArray(name, r)
	if !present {
		return nil
	}
	return append([]string{}, list.Strings(r)...)
}

// readRights reads the optional member permissions; nil when it is absent.
func readRights(body jsonread.Object, r *domain.Rules) []tenant.Right {
	texts := readTexts(body, "permissions", r)
	if texts == nil {
		return nil
	}
	rights := make([]tenant.Right, len(texts))
	for i, text := range texts {
		rights[i] = tenant.Right(text)
	}
	return rights
}

// embedTokenFilter reads which tokens are meant.
func embedTokenFilter(query jsonread.Query, r *domain.Rules) (f tenant.EmbedTokenFilter) {
	if text, present := query.String("subTenantId", r); present {
		sub := tenant.SubTenantID(text)
		sub.Check(r, "subTenantId")
		f.SubTenant = &sub
	}
	if subject, present := query.String("subject", r); present {
		f.Subject = &subject
	}
	return f
}

// listEmbedTokens answers GET /embed-tokens.
func (a *API) listEmbedTokens(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c)
	if err != nil {
		return err
	}
	f := embedTokenFilter(l.Params, &l.Rules)
	return exchange.AnswerList(c, l, renderEmbedToken, func(q domain.Query) (domain.Page[*tenant.APIKey], error) {
		return a.ports.EmbedTokens.List(c.Request.Context(), who, f, q.PageRequest)
	})
}

// revokeEmbedToken answers DELETE /embed-tokens/{id}.
func (a *API) revokeEmbedToken(c *gin.Context, who tenant.Caller) error {
	return exchange.Delete(c, func() error {
		return a.ports.EmbedTokens.Revoke(c.Request.Context(), who, exchange.PathID[tenant.KeyID](c, "id", tenant.EmbedTokenIDPrefix))
	})
}

// revokeEmbedTokens answers DELETE /embed-tokens.
func (a *API) revokeEmbedTokens(c *gin.Context, who tenant.Caller) error {
	query, err := exchange.Parameters(c)
	if err != nil {
		return err
	}
	var r domain.Rules
	f := embedTokenFilter(query, &r)
	if err := cmp.Or(exchange.ReportIgnored(c), r.Err("embed_token_invalid", "The parameters are not valid.")); err != nil {
		return err
	}
	return exchange.Delete(c, func() error { return a.ports.EmbedTokens.RevokeAll(c.Request.Context(), who, f) })
}

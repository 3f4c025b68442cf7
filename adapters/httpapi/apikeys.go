package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// keyBody is an API key as clients see it. The text stands only on the first answer
// to the request that made the key.
type keyBody struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Name string `json:"name"`
	narrowingBody
	LastFour   string `json:"lastFour"`
	Key        string `json:"key,omitempty"`
	CreatedAt  string `json:"createdAt"`
	LastUsedAt string `json:"lastUsedAt,omitempty"`
	ExpiresAt  string `json:"expiresAt,omitempty"`
	RevokedAt  string `json:"revokedAt,omitempty"`
}

func keyBodyOf(k *tenant.APIKey) keyBody {
	return keyBody{
		ID: string(k.ID()), Type: string(k.Type()), Name: k.Name(), narrowingBody: narrowingBodyOf(k.Narrowing()), LastFour: k.LastFour(), CreatedAt: exchange.Timestamp(k.CreatedAt()),
		LastUsedAt: exchange.OptionalTimestamp(k.LastUsedAt()), ExpiresAt: exchange.OptionalTimestamp(k.ExpiresAt()), RevokedAt: exchange.OptionalTimestamp(k.RevokedAt()),
	}
}

func renderKey(k *tenant.APIKey) any { return keyBodyOf(k) }

func renderIssuedKey(issued inbound.IssuedKey) any {
	body := keyBodyOf(issued.Key)
	body.Key = issued.Text.Reveal()
	return body
}

// recordKey is what a repeat of the request that made a key gets: the text is never stored.
var recordKey = exchange.Record(keyBodyOf)

// createKey answers POST /api-keys.
func (a *API) createKey(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadResource[keyBody](c, keyDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[inbound.IssuedKey]{
		Status: http.StatusCreated, Render: renderIssuedKey, Record: recordKey,
		Run: func(idempotency domain.IdempotencyKey) (inbound.IssuedKey, error) {
			return a.ports.APIKeys.Issue(c.Request.Context(), who, idempotency, draft)
		},
	})
}

func keyDraft(body jsonread.Object) tenant.KeyDraft {
	var r domain.Rules
	var draft tenant.KeyDraft
	kind, _ := body.String("type", &r)
	draft.Type = tenant.KeyType(kind)
	if name := body.OptionalString("name", &r); name != nil {
		draft.Name = *name
	}
	if text := body.OptionalString("expiresAt", &r); text != nil {
		if at, ok := exchange.ReadTime(*text, "expiresAt", &r); ok {
			at = at.UTC().Truncate(time.Millisecond)
			draft.ExpiresAt = &at
		}
	}
	if sub := body.OptionalString("subTenantId", &r); sub != nil {
		draft.Narrowing.SubTenant = (*tenant.SubTenantID)(sub)
	}
	draft.Narrowing.Rights = readRights(body, &r)
	draft.Malformed = r.Violations()
	return draft
}

// keyID reads the identifier of a key from a parameter of the path.
func keyID(c *gin.Context, name string) tenant.KeyID {
	return exchange.PathID[tenant.KeyID](c, name, tenant.KeyIDPrefix)
}

// getKey answers GET /api-keys/{id}.
func (a *API) getKey(c *gin.Context, who tenant.Caller) error {
	k, err := a.ports.APIKeys.Get(c.Request.Context(), who, keyID(c, "id"))
	return exchange.Answer(c, k, err, renderKey)
}

// listKeys answers GET /api-keys.
func (a *API) listKeys(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c)
	if err != nil {
		return err
	}
	return exchange.AnswerList(c, l, renderKey, func(q domain.Query) (domain.Page[*tenant.APIKey], error) {
		return a.ports.APIKeys.List(c.Request.Context(), who, q.PageRequest)
	})
}

// rotateKey answers POST /api-keys/{id}/rotate, where the parameter of the path names the
// key.
func (a *API) rotateKey(parameter string) exchange.Handler {
	return func(c *gin.Context, who tenant.Caller) error {
		var r domain.Rules
		grace, err := exchange.ReadResource[keyBody](c, func(body jsonread.Object) time.Duration { return readGrace(body, 0, &r) })
		if err != nil {
			return err
		}
		if err := r.Err("api_key_invalid", "The API key cannot be rotated like that."); err != nil {
			return err
		}
		return exchange.Execute(c, who, exchange.Command[inbound.IssuedKey]{
			Status: http.StatusCreated, Render: renderIssuedKey, Record: recordKey,
			Run: func(idempotency domain.IdempotencyKey) (inbound.IssuedKey, error) {
				return a.ports.APIKeys.Rotate(c.Request.Context(), who, idempotency, keyID(c, parameter), grace)
			},
		})
	}
}

// revokeKey answers DELETE /api-keys/{id}, where the parameter of the path names the key.
func (a *API) revokeKey(parameter string) exchange.Handler {
	return func(c *gin.Context, who tenant.Caller) error {
		return exchange.Delete(c, func() error {
			_, err := a.ports.APIKeys.Revoke(c.Request.Context(), who, keyID(c, parameter))
			return err
		})
	}
}

package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// nodeSecretBody is what signs the calls of custom nodes. The secret itself stands only
// on the first answer to the request that made it.
type nodeSecretBody struct {
	Secret    string               `json:"secret,omitempty"`
	LastFour  string               `json:"lastFour"`
	CreatedAt string               `json:"createdAt"`
	Previous  []previousSecretBody `json:"previous"`
}

// previousSecretBody is a secret that signs together with a newer one until it expires.
type previousSecretBody struct {
	LastFour  string `json:"lastFour"`
	ExpiresAt string `json:"expiresAt"`
}

func (a *API) nodeSecretBodyOf(n *tenant.NodeSecret) nodeSecretBody {
	body := nodeSecretBody{LastFour: n.Current().LastFour(), CreatedAt: exchange.Timestamp(n.CreatedAt()), Previous: []previousSecretBody{}}
	for _, r := range n.Previous(a.opts.Now()) {
		body.Previous = append(body.Previous, previousSecretBody{LastFour: r.Secret.LastFour(), ExpiresAt: exchange.Timestamp(r.Until)})
	}
	return body
}

// getNodeSecret answers GET /custom-nodes/secret.
func (a *API) getNodeSecret(c *gin.Context, who tenant.Caller) error {
	n, err := a.ports.NodeSecrets.Get(c.Request.Context(), who)
	return exchange.Answer(c, n, err, func(n *tenant.NodeSecret) any { return a.nodeSecretBodyOf(n) })
}

// rotateNodeSecret answers POST /custom-nodes/secret/rotate.
func (a *API) rotateNodeSecret(c *gin.Context, who tenant.Caller) error {
	var r domain.Rules
	overlap, err := exchange.ReadResource[nodeSecretBody](c, func(body jsonread.Object) time.Duration { return readGrace(body, tenant.NodeSecretOverlap, &r) })
	if err != nil {
		return err
	}
	if err := r.Err("node_secret_invalid", "The node secret cannot be rotated like that."); err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[*tenant.NodeSecret]{
		Status: http.StatusCreated,
		Render: func(n *tenant.NodeSecret) any {
			body := a.nodeSecretBodyOf(n)
			body.Secret = n.Current().Reveal()
			return body
		},
		Record: exchange.Record(a.nodeSecretBodyOf), // the secret is shown once
		Run: func(idempotency domain.IdempotencyKey) (*tenant.NodeSecret, error) {
			return a.ports.NodeSecrets.Rotate(c.Request.Context(), who, idempotency, overlap)
		},
	})
}

// readGrace reads how long a replaced secret stays valid.
func readGrace(body jsonread.Object, otherwise time.Duration, r *domain.Rules) time.Duration {
	seconds := body.OptionalInt("graceSeconds", r)
	if seconds == nil {
		return otherwise
	}
	const most = int(tenant.MaxGrace / time.Second)
	r.Check(*seconds >= 0, "graceSeconds", domain.TooSmall, "must be at least 0, not %d", *seconds)
	r.Check(*seconds <= most, "graceSeconds", domain.TooLarge, "must be at most %d, not %d", most, *seconds)
	return time.Duration(min(*seconds, most)) * time.Second
}

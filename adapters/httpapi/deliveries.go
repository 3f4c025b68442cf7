package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
)

// deliveryBody is the delivery of an event to a webhook endpoint.
type deliveryBody struct {
	ID            string        `json:"id"`
	TenantID      string        `json:"tenantId"`
	EndpointID    string        `json:"endpointId"`
	EventID       string        `json:"eventId"`
	EventType     string        `json:"eventType"`
	Status        string        `json:"status"`
	Reason        string        `json:"reason,omitempty"`
	Attempts      []attemptBody `json:"attempts"`
	AttemptCount  int           `json:"attemptCount"`
	NextAttemptAt string        `json:"nextAttemptAt,omitempty"`
	DeliveredAt   string        `json:"deliveredAt,omitempty"`
	CreatedAt     string        `json:"createdAt"`
	UpdatedAt     string        `json:"updatedAt"`
}

// attemptBody is one sending.
type attemptBody struct {
	Number     int    `json:"number"`
	StartedAt  string `json:"startedAt"`
	DurationMs int64  `json:"durationMs"`
	Succeeded  bool   `json:"succeeded"`
	StatusCode int    `json:"statusCode,omitempty"`
	Code       string `json:"code,omitempty"`
	Error      string `json:"error,omitempty"`
	Excerpt    string `json:"excerpt,omitempty"`
	IsManual   bool   `json:"isManual"`
}

func renderDelivery(d *event.Delivery) any {
	body := deliveryBody{
		ID: string(d.ID()), TenantID: string(d.Tenant()), EndpointID: string(d.Endpoint()), EventID: string(d.Event()),
		EventType: string(d.Type()), Status: string(d.Status()), Reason: d.Reason(), Attempts: []attemptBody{}, AttemptCount: d.Attempted(),
		NextAttemptAt: exchange.OptionalTimestamp(d.NextAttemptAt()), DeliveredAt: exchange.OptionalTimestamp(d.DeliveredAt()),
		CreatedAt: exchange.Timestamp(d.CreatedAt()), UpdatedAt: exchange.Timestamp(d.UpdatedAt()),
	}
	for _, at := range d.Attempts() {
		body.Attempts = append(body.Attempts, attemptBody{
			Number: at.Number, StartedAt: exchange.Timestamp(at.At), DurationMs: at.Duration.Milliseconds(), Succeeded: at.Succeeded(),
			StatusCode: at.Status, Code: at.Code, Error: at.Error, Excerpt: at.Excerpt, IsManual: at.Manual,
		})
	}
	return body
}

// noEvent is an identifier that no event has, for a filter that is spelled wrong.
const noEvent = event.ID("none")

// listDeliveries answers GET /webhook-endpoints/{id}/deliveries.
func (a *API) listDeliveries(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, event.DeliverySortFields()...)
	if err != nil {
		return err
	}
	status, _ := l.Params.OneOf("status", texts(event.Statuses()), &l.Rules)
	kind, _ := l.Params.OneOf("eventType", texts(append(event.Types(), event.EndpointTest)), &l.Rules)
	filter := event.DeliveryFilter{Status: event.Status(status), Type: event.Type(kind), From: l.Time("from"), To: l.Time("to")}
	filter.Event = exchange.FilterID(l, "eventId", event.IDPrefix, noEvent)
	return exchange.AnswerLargeList(c, who, l, exchange.LargeList[*event.Delivery]{
		Render: renderDelivery,
		Read: func(q domain.Query) (domain.Page[*event.Delivery], error) {
			return a.ports.WebhookDeliveries.List(c.Request.Context(), who, webhookEndpointID(c), filter, q)
		},
	})
}

// texts turns the values of an enumeration into what a query may say.
func texts[T ~string](values []T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

func deliveryID(c *gin.Context) event.DeliveryID {
	return exchange.PathID[event.DeliveryID](c, "id", event.DeliveryIDPrefix)
}

// getDelivery answers GET /deliveries/{id}.
func (a *API) getDelivery(c *gin.Context, who tenant.Caller) error {
	d, err := a.ports.WebhookDeliveries.Get(c.Request.Context(), who, deliveryID(c))
	return exchange.Answer(c, d, err, renderDelivery)
}

// redeliver answers POST /deliveries/{id}/redeliver.
func (a *API) redeliver(c *gin.Context, who tenant.Caller) error {
	return exchange.ExecuteWithoutBody[deliveryBody](c, who, exchange.Command[*event.Delivery]{
		Status: http.StatusOK, Render: renderDelivery,
		Run: func(idempotency domain.IdempotencyKey) (*event.Delivery, error) {
			return a.ports.WebhookDeliveries.Redeliver(c.Request.Context(), who, idempotency, deliveryID(c))
		},
	})
}

package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// previewBody is what a schedule does next.
type previewBody struct {
	Timezone string           `json:"timezone,omitempty"`
	Items    []occurrenceBody `json:"items"`
	Reason   string           `json:"reason,omitempty"`
}

// occurrenceBody is one fire time.
type occurrenceBody struct {
	ScheduledAt string `json:"scheduledAt"`
	LocalTime   string `json:"localTime"`
	Shift       string `json:"shift,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

func renderPreview(p trigger.Preview) any {
	body := previewBody{Items: make([]occurrenceBody, len(p.Upcoming)), Reason: p.Reason}
	if p.Zone != nil {
		body.Timezone = p.Zone.String()
	}
	for i, o := range p.Upcoming {
		body.Items[i] = occurrenceBody{
			ScheduledAt: exchange.Timestamp(o.At), LocalTime: o.At.In(p.Zone).Format("2006-01-02T15:04:05.000-07:00"),
			Shift: string(o.Shift), Reason: o.Shift.Reason(),
		}
	}
	return body
}

// previewTrigger answers GET /triggers/{id}/preview.
func (a *API) previewTrigger(c *gin.Context, who tenant.Caller) error {
	query, err := exchange.Parameters(c)
	if err != nil {
		return err
	}
	var r domain.Rules
	count := query.Int("count", trigger.MinPreview, trigger.MaxPreview, &r)
	if err := r.Err("preview_invalid", "The preview is not valid."); err != nil {
		return err
	}
	p, err := a.ports.Schedules.Preview(c.Request.Context(), who, exchange.PathID[trigger.ID](c, "id", trigger.IDPrefix), count)
	return exchange.Answer(c, p, err, renderPreview)
}

// previewSchedule answers POST /triggers/preview.
func (a *API) previewSchedule(c *gin.Context, who tenant.Caller) error {
	d, err := exchange.ReadBody(c, previewDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[trigger.Preview]{
		Status: http.StatusOK, Render: renderPreview,
		Run: func(idempotency domain.IdempotencyKey) (trigger.Preview, error) {
			return a.ports.Schedules.PreviewDraft(c.Request.Context(), who, idempotency, d)
		},
	})
}

func previewDraft(body jsonread.Object) trigger.PreviewDraft {
	var r domain.Rules
	d := trigger.PreviewDraft{Config: body.OptionalDocument("config", &r), Count: body.OptionalInt("count", &r)}
	d.Malformed = r.Violations()
	return d
}

// fireBody is an entry of a trigger's ledger.
type fireBody struct {
	TriggerID   string `json:"triggerId"`
	ScheduledAt string `json:"scheduledAt"`
	FiredAt     string `json:"firedAt,omitempty"`
	RecordedAt  string `json:"recordedAt"`
	Outcome     string `json:"outcome"`
	Reason      string `json:"reason,omitempty"`
	RunID       string `json:"runId,omitempty"`
}

func renderFire(f *trigger.Fire) any {
	body := fireBody{
		TriggerID: string(f.Trigger()), ScheduledAt: exchange.Timestamp(f.At()), RecordedAt: exchange.Timestamp(f.RecordedAt()),
		Outcome: string(f.Outcome()), Reason: f.Reason(), RunID: f.RunID(),
	}
	if f.Outcome().Starts() {
		body.FiredAt = body.RecordedAt
	}
	return body
}

// listFires answers GET /triggers/{id}/fires.
func (a *API) listFires(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, trigger.FireSortFields()...)
	if err != nil {
		return err
	}
	outcome, _ := l.Params.OneOf("outcome", texts(trigger.FireOutcomes()), &l.Rules)
	filter := trigger.FireFilter{Outcome: trigger.FireOutcome(outcome), From: l.Time("from"), To: l.Time("to")}
	return exchange.AnswerList(c, l, renderFire, func(q domain.Query) (domain.Page[*trigger.Fire], error) {
		return a.ports.Schedules.Fires(c.Request.Context(), who, exchange.PathID[trigger.ID](c, "id", trigger.IDPrefix), filter, q)
	})
}

package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
)

// hookBody is a hook as its tenant sees it.
type hookBody struct {
	TriggerID    string          `json:"triggerId"`
	TenantID     string          `json:"tenantId"`
	SubTenantID  string          `json:"subTenantId,omitempty"`
	URL          string          `json:"url"`
	Scheme       json.RawMessage `json:"scheme"`
	Secrets      []connection.ID `json:"secrets"`
	Event        *string         `json:"event,omitempty"`
	EntityID     *string         `json:"entityId,omitempty"`
	Dedupe       *string         `json:"dedupe,omitempty"`
	Filter       *string         `json:"filter,omitempty"`
	Split        *string         `json:"split,omitempty"`
	Defaults     hookDefaults    `json:"defaults"`
	Ingest       bool            `json:"ingest"`
	RawBody      bool            `json:"rawBody"`
	Respond      json.RawMessage `json:"respond"`
	AllowFrom    []string        `json:"allowFrom"`
	Limits       hookLimits      `json:"limits"`
	IsActive     bool            `json:"isActive"`
	Warnings     []string        `json:"warnings,omitempty"`
	RetiredUntil string          `json:"oldUrlUntil,omitempty"`
	CreatedAt    string          `json:"createdAt"`
	UpdatedAt    string          `json:"updatedAt"`
}

// hookDefaults are the expressions of the preset.
type hookDefaults struct {
	Event    string `json:"event,omitempty"`
	EntityID string `json:"entityId,omitempty"`
	Dedupe   string `json:"dedupe,omitempty"`
	Split    string `json:"split,omitempty"`
}

type hookLimits struct {
	PerMinute  int `json:"perMinute"`
	Concurrent int `json:"concurrent"`
}

// openWarning stands with a hook that verifies nothing.
const openWarning = "The scheme verifies nothing: whoever learns of the address starts runs."

func hookBodyOf(shown inbound.ShownHook) hookBody {
	h := shown.Hook
	c, preset, limits := h.Config(), h.Scheme().Defaults(), h.Limits()
	body := hookBody{
		TriggerID: string(h.Trigger()), TenantID: string(h.Tenant()), SubTenantID: string(h.SubTenant()), URL: shown.URL, Scheme: json.RawMessage(c.Scheme.Document().String()),
		Secrets: append([]connection.ID{}, c.Secrets...), Event: c.Event, EntityID: c.Entity, Dedupe: c.Dedupe, Filter: c.Filter, Split: c.Split,
		Defaults: hookDefaults{preset.Event, preset.Entity, preset.Dedupe, preset.Split}, Ingest: c.Ingest, RawBody: c.RawBody, Respond: json.RawMessage(c.Respond.Document().String()),
		AllowFrom: c.AllowFrom.Texts(), Limits: hookLimits{limits.PerMinute, limits.Concurrent}, IsActive: h.Active(),
		CreatedAt: exchange.Timestamp(h.CreatedAt()), UpdatedAt: exchange.Timestamp(h.UpdatedAt()),
	}
	if c.Scheme.IsOpen() {
		body.Warnings = []string{openWarning}
	}
	if until, ok := h.RetiredUntil(h.UpdatedAt()); ok && shown.Retiring {
		body.RetiredUntil = exchange.Timestamp(until)
	}
	return body
}

func renderHook(shown inbound.ShownHook) any { return hookBodyOf(shown) }

func revisionOfHook(shown inbound.ShownHook) int64 { return shown.Hook.Revision() }

// recordHook is what a repeat of the request that made an address gets: it has the address shortened.
var recordHook = exchange.Record(hookBodyOf)

func hookTrigger(c *gin.Context) trigger.ID {
	return exchange.PathID[trigger.ID](c, "id", trigger.IDPrefix)
}

// createHook answers POST /triggers/{id}/hook.
func (a *API) createHook(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadResource[hookBody](c, hookDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[inbound.ShownHook]{
		Status: http.StatusCreated, Render: renderHook, Revision: revisionOfHook, Record: recordHook,
		Run: func(once domain.IdempotencyKey) (inbound.ShownHook, error) {
			return a.ports.Hooks.Create(c.Request.Context(), who, once, hookTrigger(c), draft)
		},
	})
}

func hookDraft(body jsonread.Object) hook.Draft {
	var r domain.Rules
	p := readHookPatch(body, &r)
	d := hook.Draft{Active: p.Active}
	r.Check(body.Has("scheme"), "scheme", domain.Required, `must be given, such as {"preset": "github"}`)
	domain.Set(&d.Scheme, p.Scheme)
	domain.Set(&d.Secrets, p.Secrets)
	d.Event, d.Entity, d.Dedupe, d.Filter, d.Split = p.Event.To, p.Entity.To, p.Dedupe.To, p.Filter.To, p.Split.To
	domain.Set(&d.Ingest, p.Ingest)
	domain.Set(&d.RawBody, p.RawBody)
	domain.Set(&d.Respond, p.Respond)
	domain.Set(&d.AllowFrom, p.AllowFrom)
	domain.Set(&d.Limits, p.Limits)
	d.Malformed = r.Violations()
	return d
}

func hookPatch(body jsonread.Object) hook.Patch {
	var r domain.Rules
	p := readHookPatch(body, &r)
	p.Malformed = r.Violations()
	return p
}

func readHookPatch(body jsonread.Object, r *domain.Rules) (p hook.Patch) {
	if doc := body.OptionalDocument("scheme", r); doc != nil {
		scheme := hook.ParseScheme(r, "scheme", []byte(doc.String()))
		p.Scheme = &scheme
	}
	if list, present := body.OptionalArray("secrets", r); present {
		ids := make([]connection.ID, 0, list.Len())
		for _, text := range list.Strings(r) {
			ids = append(ids, connection.ID(text))
		}
		p.Secrets = &ids
	}
	p.Event, p.Entity, p.Dedupe = readExpression(body, "event", r), readExpression(body, "entityId", r), readExpression(body, "dedupe", r)
	p.Filter, p.Split = readExpression(body, "filter", r), readExpression(body, "split", r)
	p.Ingest, p.RawBody, p.Active = body.OptionalBool("ingest", r), body.OptionalBool("rawBody", r), body.OptionalBool("isActive", r)
	if doc := body.OptionalDocument("respond", r); doc != nil {
		respond := hook.ParseRespond(r, "respond", []byte(doc.String()))
		p.Respond = &respond
	}
	if list, present := body.OptionalArray("allowFrom", r); present {
		ranges := hook.ParseRanges(r, "allowFrom", list.Strings(r))
		p.AllowFrom = &ranges
	}
	if limits, present := body.OptionalObject("limits", r); present {
		var l hook.Limits
		l.PerMinute, _ = limits.Int("perMinute", r)
		l.Concurrent, _ = limits.Int("concurrent", r)
		p.Limits = &l
	}
	return p
}

// readExpression reads an expression; null makes it the preset's.
func readExpression(body jsonread.Object, name string, r *domain.Rules) (c hook.Change) {
	text, present := body.NullableString(name, r)
	return hook.Change{To: text, Remove: present && text == nil && !r.Broken(name)}
}

// getHook answers GET /triggers/{id}/hook.
func (a *API) getHook(c *gin.Context, who tenant.Caller) error {
	if err := exchange.ReportIgnored(c); err != nil {
		return err
	}
	shown, err := a.ports.Hooks.Get(c.Request.Context(), who, hookTrigger(c))
	return answerHook(c, shown, err)
}

func answerHook(c *gin.Context, shown inbound.ShownHook, err error) error {
	return exchange.AnswerRecord(c, shown.Hook, err, func(*hook.Hook) any { return renderHook(shown) })
}

// updateHook answers PATCH /triggers/{id}/hook.
func (a *API) updateHook(c *gin.Context, who tenant.Caller) error {
	patch, err := exchange.ReadResource[hookBody](c, hookPatch)
	if err != nil {
		return err
	}
	shown, err := a.ports.Hooks.Update(c.Request.Context(), who, hookTrigger(c), exchange.Expected(c), patch)
	return answerHook(c, shown, err)
}

// deleteHook answers DELETE /triggers/{id}/hook.
func (a *API) deleteHook(c *gin.Context, who tenant.Caller) error {
	return exchange.Delete(c, func() error {
		return a.ports.Hooks.Delete(c.Request.Context(), who, hookTrigger(c), exchange.Expected(c))
	})
}

// rotateHook answers POST /triggers/{id}/hook/rotate.
func (a *API) rotateHook(c *gin.Context, who tenant.Caller) error {
	var r domain.Rules
	grace, err := exchange.ReadBody(c, func(body jsonread.Object) int {
		seconds, _ := body.Int("graceSeconds", &r)
		return seconds
	})
	if err != nil {
		return err
	}
	if err := r.Err("hook_invalid", "The hook cannot be rotated like that."); err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[inbound.ShownHook]{
		Status: http.StatusOK, Render: renderHook, Revision: revisionOfHook, Record: recordHook,
		Run: func(once domain.IdempotencyKey) (inbound.ShownHook, error) {
			return a.ports.Hooks.Rotate(c.Request.Context(), who, once, hookTrigger(c), grace)
		},
	})
}

// explanationBody says why a sample is verified or not.
type explanationBody struct {
	Verified     bool   `json:"verified"`
	Scheme       string `json:"scheme"`
	SignedString string `json:"signedString,omitempty"`
	Expected     string `json:"expected,omitempty"`
	Given        string `json:"given,omitempty"`
	Reason       string `json:"reason,omitempty"`
}

func renderExplanation(e hook.Explanation) any {
	return explanationBody{e.Verified, e.Scheme, e.SignedString, e.Expected, e.Given, string(e.Reason)}
}

// testHook answers POST /triggers/{id}/hook/test.
func (a *API) testHook(c *gin.Context, who tenant.Caller) error {
	var r domain.Rules
	sample, err := exchange.ReadBody(c, func(body jsonread.Object) hook.Request { return readSample(body, &r) })
	if err != nil {
		return err
	}
	if err := r.Err("hook_sample_invalid", "The sample is not valid."); err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[hook.Explanation]{
		Status: http.StatusOK, Render: renderExplanation,
		Run: func(once domain.IdempotencyKey) (hook.Explanation, error) {
			return a.ports.Hooks.Test(c.Request.Context(), who, once, hookTrigger(c), sample)
		},
	})
}

func readSample(body jsonread.Object, r *domain.Rules) hook.Request {
	sample := hook.Request{Method: http.MethodPost}
	if method := body.OptionalString("method", r); method != nil {
		sample.Method = strings.ToUpper(*method)
	}
	headers := make(map[string][]string)
	if object, present := body.OptionalObject("headers", r); present {
		for name := range object.All() {
			if text, ok := object.String(name, r); ok {
				headers[name] = append(headers[name], text)
			}
		}
	}
	sample.Headers = hook.ReadHeaders(headers)
	text, _ := body.String("body", r)
	sample.Body = []byte(text)
	if address := body.OptionalString("url", r); address != nil {
		u, err := url.Parse(*address)
		r.Check(err == nil && u.Host != "", "url", domain.BadFormat, "must be the whole address that was sent to, such as https://hooks.example.com/h/…")
		if err == nil {
			sample.Origin, sample.Address, sample.Query = u.Scheme+"://"+u.Host, u.RequestURI(), u.RawQuery
		}
	}
	return sample
}

// receivedBody is a delivery that a hook has received.
type receivedBody struct {
	ID         string `json:"id"`
	TriggerID  string `json:"triggerId"`
	ReceivedAt string `json:"receivedAt"`
	Verdict    string `json:"verdict"`
	Code       string `json:"code,omitempty"`
	RunIDs     []any  `json:"runIds"`
	Items      int    `json:"items,omitempty"`
	ReplayOf   string `json:"replayOf,omitempty"`
	Size       int64  `json:"size"`
	*receivedRequest
}

// receivedRequest is what was received.
type receivedRequest struct {
	Method     string              `json:"method"`
	Path       string              `json:"path"`
	Query      string              `json:"query"`
	Headers    map[string][]string `json:"headers"`
	Body       *string             `json:"body,omitempty"`
	BodyBase64 *string             `json:"bodyBase64,omitempty"`
	Client     string              `json:"client"`
}

func receivedBodyOf(d *hook.Received) receivedBody {
	body := receivedBody{
		ID: string(d.ID), TriggerID: string(d.Trigger), ReceivedAt: exchange.Timestamp(d.At), Verdict: string(d.Verdict), Code: d.Code, RunIDs: []any{}, Items: d.Items,
		ReplayOf: string(d.ReplayOf), Size: d.Size,
	}
	for _, id := range d.Runs {
		body.RunIDs = append(body.RunIDs, string(id))
	}
	return body
}

func renderReceived(d *hook.Received) any { return receivedBodyOf(d) }

func renderWholeReceived(d *hook.Received) any {
	body, q := receivedBodyOf(d), d.Request
	body.receivedRequest = &receivedRequest{Method: q.Method, Path: q.Path, Query: q.Query, Headers: q.Headers, Client: d.Client}
	if text := string(q.Body); utf8.Valid(q.Body) {
		body.Body = &text
	} else {
		encoded := base64.StdEncoding.EncodeToString(q.Body)
		body.BodyBase64 = &encoded
	}
	return body
}

// listReceived answers GET /triggers/{id}/hook/deliveries.
func (a *API) listReceived(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, "receivedAt")
	if err != nil {
		return err
	}
	verdict, _ := l.Params.OneOf("verdict", texts(hook.Verdicts()), &l.Rules)
	filter := hook.ReceivedFilter{Verdict: hook.Verdict(verdict), From: l.Time("from"), To: l.Time("to")}
	return exchange.AnswerLargeList(c, who, l, exchange.LargeList[*hook.Received]{
		Render: renderReceived,
		Read: func(q domain.Query) (domain.Page[*hook.Received], error) {
			return a.ports.HookDeliveries.List(c.Request.Context(), who, hookTrigger(c), filter, q)
		},
	})
}

func receivedID(c *gin.Context) hook.DeliveryID {
	return exchange.PathID[hook.DeliveryID](c, "deliveryId", hook.DeliveryIDPrefix)
}

// getReceived answers GET /triggers/{id}/hook/deliveries/{deliveryId}.
func (a *API) getReceived(c *gin.Context, who tenant.Caller) error {
	if err := exchange.ReportIgnored(c); err != nil {
		return err
	}
	d, err := a.ports.HookDeliveries.Delivery(c.Request.Context(), who, hookTrigger(c), receivedID(c))
	return exchange.Answer(c, d, err, renderWholeReceived)
}

// replayReceived answers POST /triggers/{id}/hook/deliveries/{deliveryId}/replay.
func (a *API) replayReceived(c *gin.Context, who tenant.Caller) error {
	return exchange.ExecuteWithoutBody[receivedBody](c, who, exchange.Command[*hook.Received]{
		Status: http.StatusOK, Render: renderReceived,
		Run: func(once domain.IdempotencyKey) (*hook.Received, error) {
			return a.ports.HookDeliveries.Replay(c.Request.Context(), who, once, hookTrigger(c), receivedID(c))
		},
	})
}

// replayAllReceived answers POST /triggers/{id}/hook/deliveries/replay.
func (a *API) replayAllReceived(c *gin.Context, who tenant.Caller) error {
	var r domain.Rules
	filter, err := exchange.ReadBody(c, func(body jsonread.Object) hook.ReceivedFilter {
		return hook.ReceivedFilter{
			From: memberTime(body, "from", &r), To: memberTime(body, "to", &r),
			Verdict: hook.Verdict(memberOneOf(body, "verdict", texts(hook.Verdicts()), &r)),
		}
	})
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[*job.Job]{
		Status: http.StatusAccepted, Render: renderJob,
		Run: func(once domain.IdempotencyKey) (*job.Job, error) {
			return a.ports.HookDeliveries.ReplayAll(c.Request.Context(), who, once, hookTrigger(c), filter, r.Violations())
		},
	})
}

package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

var (
	_ inbound.Hooks          = (*Service)(nil)
	_ inbound.HookIntake     = (*Service)(nil)
	_ inbound.HookDeliveries = (*Service)(nil)
)

const codeUnknown = "hook_not_found"

func errUnknown() error {
	return domain.Fail(domain.NotFound, codeUnknown, "The delivery could not be verified.")
}

// Enter finds the hook of an address and takes one of its places.
func (s *Service) Enter(ctx context.Context, text string, client netip.Addr) (in inbound.EnteredHook, err error) {
	in.Leave = func() {}
	token, ok := hook.ParseToken(text)
	if !ok {
		s.figures.refused(reasonUnknown)
		return in, errUnknown()
	}
	hash := token.Hash()
	open, err := s.directory.Hook(ctx, hash)
	if errors.Is(err, domain.NotFound) || err == nil && (open.Tenant.Status() != tenant.Active || !open.Hook.Opens(hash, s.clock.Now())) {
		s.figures.refused(reasonUnknown)
		return in, errUnknown()
	}
	if err != nil {
		return in, err
	}
	in.Tenant, in.Trigger, in.Open = open.Hook.Tenant(), open.Hook.Trigger(), open
	if !open.Hook.Allows(client) {
		s.figures.refused(reasonAddress)
		return in, domain.Fail(domain.Forbidden, "hook_address_not_allowed", "The delivery could not be verified.")
	}
	return in, s.takePlace(ctx, open.Hook, &in)
}

// takePlace counts the delivery against the limits of its hook.
func (s *Service) takePlace(ctx context.Context, h *hook.Hook, in *inbound.EnteredHook) error {
	limits := h.Limits()
	entry, err := s.limiter.Acquire(ctx, string(h.Tenant())+"/hook/"+string(h.Trigger()), limits.PerMinute, time.Minute, limits.Concurrent)
	leave := s.figures.enter()
	in.Leave = func() {
		entry.Release()
		leave()
	}
	if err != nil {
		return err
	}
	var refused *domain.Error
	switch {
	case !entry.Granted:
		refused = domain.Fail(domain.RateLimited, "rate_limit_exceeded", "The hook takes %d deliveries a minute. Send this one again later.", limits.PerMinute)
		refused.RetryAfter = entry.RetryAfter
	case !entry.Acquired:
		refused = domain.Fail(domain.RateLimited, "too_many_concurrent_requests", "The hook takes %d deliveries at the same time. Send this one again in a second.", limits.Concurrent)
		refused.RetryAfter = time.Second
	default:
		return nil
	}
	s.figures.refused(reasonLimit)
	return refused
}

// Receive verifies a delivery and starts what it starts.
func (s *Service) Receive(ctx context.Context, in inbound.EnteredHook, r hook.Request, client netip.Addr) (hook.Answer, error) {
	open, ok := in.Open.(outbound.OpenHook)
	if !ok {
		return hook.Answer{}, errUnknown()
	}
	now := s.clock.Now()
	r.At, r.Origin = now, s.origin()
	h := open.Hook
	received := s.received(h, now)
	received.Request, received.Client = h.Scheme().Keep(open.Secrets, r), client.String()
	result := h.Scheme().Verify(open.Secrets, r, now)
	switch {
	case !result.Verified:
		received.Verdict, received.Code = hook.RefusedSender, string(result.Reason)
		s.figures.refused(string(result.Reason))
		return hook.Answer{}, cmp.Or[error](s.keepRefused(ctx, received), domain.Fail(domain.Unauthenticated, "hook_delivery_refused", "The delivery could not be verified."))
	case result.Challenge != nil:
		received.Verdict = hook.Challenged
		s.figures.became(hook.Challenged)
		return *result.Challenge, s.firing.Record(ctx, received)
	}
	err := s.deliver(ctx, open, received, r)
	if received.Verdict != "" {
		s.figures.became(received.Verdict)
	}
	if err != nil {
		return hook.Answer{}, err
	}
	return s.answer(ctx, open, received)
}

// maxLargeRefused is how many large deliveries are kept a minute of those whose sender is not known.
const maxLargeRefused = hook.MaxRefused / 10

// keepRefused keeps a delivery whose sender is not known, unless as many as are kept at most have come within a minute: nobody needs a
// key to send more of them.
func (s *Service) keepRefused(ctx context.Context, r *hook.Received) error {
	limit, name := hook.MaxRefused, string(r.Tenant)+"/hook/"+string(r.Trigger)+"/refused"
	if len(r.Request.Body) >= outbound.LargeWriteBytes {
		limit, name = maxLargeRefused, name+"/large"
	}
	allowance, err := s.limiter.Allow(ctx, name, limit, time.Minute)
	if err != nil || !allowance.Granted {
		return err
	}
	return s.firing.Record(ctx, r)
}

// received is a delivery that came now.
func (s *Service) received(h *hook.Hook, now time.Time) *hook.Received {
	return &hook.Received{ID: hook.DeliveryID(s.random.ID(hook.DeliveryIDPrefix)), Tenant: h.Tenant(), Trigger: h.Trigger(), At: now}
}

// deliver reads a delivery whose sender is known, and starts what it starts.
func (s *Service) deliver(ctx context.Context, open outbound.OpenHook, received *hook.Received, r hook.Request) error {
	h := open.Hook
	if !h.Active() {
		received.Verdict, received.Code = hook.Inactive, "hook_inactive"
		return s.firing.Record(ctx, received)
	}
	payload, err := h.Scheme().Payload(open.Secrets, r, h.PayloadOptions())
	if err != nil {
		return s.reject(ctx, received, hook.Unreadable, err)
	}
	read, err := s.lookInto(ctx, open, payload, received.At)
	if err != nil {
		return s.reject(ctx, received, hook.Rejected, err)
	}
	d := inbound.HookDelivery{Hook: h, Settings: open.Tenant.Settings(), Received: received, Read: read, Ingest: h.Ingests()}
	switch {
	case len(read.Items) == 0:
		received.Verdict, received.Code = hook.Filtered, run.SkipFiltered
		return s.firing.Record(ctx, received)
	case d.Ingest && read.Items[0].Event == "":
		d.Ingest = false // which a delivery without an event starts its own trigger for
	}
	return s.firing.Deliver(ctx, d)
}

// reject keeps a delivery that cannot start a run, where it is the delivery that is wrong.
func (s *Service) reject(ctx context.Context, received *hook.Received, as hook.Verdict, err error) error {
	var refused *domain.Error
	if !errors.As(err, &refused) || refused.Kind != domain.Invalid {
		return err
	}
	received.Verdict, received.Code = as, refused.Code
	return cmp.Or(s.firing.Record(ctx, received), err)
}

// lookInto computes what the hook looks for, within its memory.
func (s *Service) lookInto(ctx context.Context, open outbound.OpenHook, payload hook.Payload, now time.Time) (read hook.Read, err error) {
	memory := open.Reader.Weigh(payload)
	if memory == 0 {
		return open.Reader.Read(payload, now)
	}
	waited := s.computing.DoLong(ctx, open.Hook.Tenant(), run.MaxComputed+memory, func() { read, err = open.Reader.Read(payload, now) })
	return read, cmp.Or(waited, err)
}

// idBody is what a run is named with.
type idBody struct {
	RunID  run.ID     `json:"runId"`
	Status run.Status `json:"status,omitempty"`
}

func answerWith(status int, body idBody) (hook.Answer, error) {
	text, err := json.Marshal(body)
	return hook.Answer{Status: status, ContentType: "application/json", Body: text}, err
}

// answer waits for the run where the hook wants that.
func (s *Service) answer(ctx context.Context, open outbound.OpenHook, received *hook.Received) (hook.Answer, error) {
	respond := open.Hook.Respond()
	if respond.Wait() == 0 || len(received.Runs) == 0 {
		return respond.WithoutRun(open.Hook.Scheme()), nil
	}
	id := received.Runs[0]
	if received.Verdict != hook.Accepted {
		return answerWith(http.StatusAccepted, idBody{RunID: id})
	}
	waiting, cancel := context.WithTimeout(ctx, respond.Wait())
	defer cancel()
	who := tenant.Caller{Scope: open.Hook.Scope(), KeyType: tenant.Secret}
	status, output, err := s.outcomes.Outcome(waiting, who, id)
	switch {
	case ctx.Err() != nil:
		return hook.Answer{}, ctx.Err()
	case err != nil: // it is not known yet, and the run goes on
		return answerWith(http.StatusAccepted, idBody{RunID: id})
	case status != run.StatusCompleted:
		return answerWith(http.StatusInternalServerError, idBody{RunID: id, Status: status})
	case output == nil:
		return hook.Answer{Status: http.StatusNoContent}, nil
	}
	answer, _ := hook.AnswerOf(output) // what the run may not answer with is left out
	return answer, nil
}

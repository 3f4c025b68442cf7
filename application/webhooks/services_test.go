package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

var draft = event.EndpointDraft{URL: "https://example.com/a"}

func TestAnEndpointIsMadeReadListedChangedAndDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		ctx := t.Context()
		made, err := h.endpoints.Create(ctx, h.who, domain.IdempotencyKey{}, draft)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(made.State(), h.now(made).State(), cmpopts.EquateEmpty()); diff != "" || !strings.HasPrefix(made.Secret().Reveal(), "whsec_") || h.endpoint("b").Secret().Equal(made.Secret()) {
			t.Errorf("%s %s", made.Secret(), diff)
		}
		found, err := h.endpoints.List(ctx, h.who, event.EndpointFilter{Search: "/A"}, domain.Query{})
		if err != nil || found.Total != 1 || found.Items[0].ID() != made.ID() {
			t.Errorf("%d: %v", found.Total, err)
		}
		h.sleepUntil(start.Add(time.Minute))
		types, active := []event.Type{event.RunFailed}, false
		changed, err := h.endpoints.Update(ctx, h.who, made.ID(), domain.ExpectOneOf(1), event.EndpointPatch{Events: &types, Active: &active})
		if err != nil || changed.Revision() != 2 || !changed.UpdatedAt().Equal(start.Add(time.Minute)) {
			t.Fatalf("%+v: %v", changed, err)
		}
		if diff := cmp.Diff(changed.State(), h.now(made).State()); diff != "" || changed.Active() {
			t.Error(diff)
		}
		_, err = h.endpoints.Update(ctx, h.who, made.ID(), domain.ExpectOneOf(1), event.EndpointPatch{})
		wantError(t, err, domain.Conflict, "precondition_failed")
		bad := "nowhere"
		_, err = h.endpoints.Update(ctx, h.who, made.ID(), domain.Expected{}, event.EndpointPatch{URL: &bad})
		wantError(t, err, domain.Invalid, "webhook_endpoint_invalid")
		wantError(t, h.endpoints.Delete(ctx, h.who, made.ID(), domain.ExpectOneOf(1)), domain.Conflict, "precondition_failed")
		if err := h.endpoints.Delete(ctx, h.who, made.ID(), domain.ExpectOneOf(2)); err != nil {
			t.Fatal(err)
		}
		_, err = h.endpoints.Get(ctx, h.who, made.ID())
		wantError(t, err, domain.NotFound, "webhook_endpoint_not_found")
		_, err = h.endpoints.Create(ctx, h.who, domain.IdempotencyKey{}, event.EndpointDraft{})
		wantError(t, err, domain.Invalid, "webhook_endpoint_invalid")
	})
}

// calls are all that can be asked about an endpoint and its delivery.
func (h *harness) calls(who tenant.Caller, id event.EndpointID, delivery event.DeliveryID) map[string]error {
	ctx, idempotency := h.Context(), domain.IdempotencyKey{}
	_, get := h.endpoints.Get(ctx, who, id)
	_, update := h.endpoints.Update(ctx, who, id, domain.Expected{}, event.EndpointPatch{})
	_, rotate := h.endpoints.RotateSecret(ctx, who, idempotency, id)
	_, test := h.endpoints.Test(ctx, who, idempotency, id)
	_, list := h.deliveries.List(ctx, who, id, event.DeliveryFilter{}, domain.Query{})
	_, read := h.deliveries.Get(ctx, who, delivery)
	_, again := h.deliveries.Redeliver(ctx, who, idempotency, delivery)
	return map[string]error{
		"get": get, "update": update, "rotate": rotate, "test": test, "list deliveries": list,
		"read a delivery": read, "redeliver": again, "delete": h.endpoints.Delete(ctx, who, id, domain.Expected{}),
	}
}

func TestAPublicKeyMayDoNothingOfThis(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		public := tenant.Caller{Scope: tenant.All(h.who.Tenant()), KeyType: tenant.Public}
		calls := h.calls(public, h.endpoint("a").ID(), "msg_1")
		_, calls["create"] = h.endpoints.Create(t.Context(), public, domain.IdempotencyKey{}, draft)
		_, calls["list"] = h.endpoints.List(t.Context(), public, event.EndpointFilter{}, domain.Query{})
		for what, err := range calls {
			t.Log(what)
			wantError(t, err, domain.Forbidden, "key_type_not_allowed")
		}
	})
}

func TestWhatIsAnotherTenantsDoesNotExist(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		e := h.endpoint("a")
		d, err := h.endpoints.Test(t.Context(), h.who, domain.IdempotencyKey{}, e.ID())
		if err != nil {
			t.Fatal(err)
		}
		absent := h.calls(h.other, "whk_absent", "msg_absent")
		for what, err := range h.calls(h.other, e.ID(), d.ID()) {
			if domain.KindOf(err) != domain.NotFound || err.Error() != absent[what].Error() {
				t.Errorf("%s: %v, but %v of what is absent", what, err, absent[what])
			}
		}
		if e := h.now(e); e.Revision() != 1 {
			t.Errorf("it was changed: %+v", e.State())
		}
	})
}

func TestATenantHasNoMoreEndpointsThanPermitted(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		for range event.MaxEndpoints {
			h.endpoint("a")
		}
		_, err := h.endpoints.Create(t.Context(), h.who, domain.IdempotencyKey{}, draft)
		wantError(t, err, domain.Conflict, "webhook_endpoint_limit")
		if _, err := h.endpoints.Create(t.Context(), h.other, domain.IdempotencyKey{}, draft); err != nil {
			t.Error(err)
		}
	})
}

// everything is all there is of endpoints and their deliveries.
func (h *harness) everything() (all []any) {
	h.Helper()
	found, err := h.endpoints.List(h.Context(), h.who, event.EndpointFilter{}, domain.Query{})
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range found.Items {
		all = append(all, e.State())
		for _, d := range h.all(e) {
			all = append(all, d.State())
		}
	}
	return all
}

func TestARepeatOfACommandHasNoEffect(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		ctx := t.Context()
		e := h.endpoint("a")
		h.happen(event.RunFailed)
		h.settle()
		delivered := h.all(e)[0]
		idempotency := func(scope, fingerprint string) domain.IdempotencyKey {
			return domain.IdempotencyKey{Scope: scope, Key: "k", Fingerprint: fingerprint, Answer: func(outcome any) ([]byte, error) {
				switch made := outcome.(type) {
				case *event.Endpoint:
					return fmt.Appendf(nil, "%s %d", made.ID(), made.Revision()), nil
				case *event.Delivery:
					return fmt.Appendf(nil, "%s %s", made.ID(), made.Status()), nil
				}
				return nil, fmt.Errorf("the outcome is %T", outcome)
			}}
		}
		for what, command := range map[string]func(domain.IdempotencyKey) (fmt.Stringer, error){
			"create": func(o domain.IdempotencyKey) (fmt.Stringer, error) {
				made, err := h.endpoints.Create(ctx, h.who, o, draft)
				return textOf(made, err)
			},
			"rotate": func(o domain.IdempotencyKey) (fmt.Stringer, error) {
				made, err := h.endpoints.RotateSecret(ctx, h.who, o, e.ID())
				return textOf(made, err)
			},
			"test": func(o domain.IdempotencyKey) (fmt.Stringer, error) {
				made, err := h.endpoints.Test(ctx, h.who, o, e.ID())
				return textOf(made, err)
			},
			"redeliver": func(o domain.IdempotencyKey) (fmt.Stringer, error) {
				made, err := h.deliveries.Redeliver(ctx, h.who, o, delivered.ID())
				return textOf(made, err)
			},
		} {
			first, err := command(idempotency(what, "same"))
			if err != nil {
				t.Fatal(what, err)
			}
			before := h.everything()
			_, err = command(idempotency(what, "same"))
			var replay *domain.Replay
			if !errors.As(err, &replay) || string(replay.Answer) != first.String() {
				t.Errorf("%s: %v, not the answer %s", what, err, first)
			}
			_, err = command(idempotency(what, "other"))
			wantError(t, err, domain.Invalid, "idempotency_key_reused")
			if diff := cmp.Diff(before, h.everything()); diff != "" {
				t.Errorf("%s: the repeat had an effect: %s", what, diff)
			}
		}
	})
}

type text string

func (t text) String() string { return string(t) }

// textOf is what the answer of a command says.
func textOf(made any, err error) (fmt.Stringer, error) {
	switch made := made.(type) {
	case *event.Endpoint:
		if err == nil {
			return text(fmt.Sprintf("%s %d", made.ID(), made.Revision())), nil
		}
	case *event.Delivery:
		if err == nil {
			return text(fmt.Sprintf("%s %s", made.ID(), made.Status())), nil
		}
	}
	return nil, err
}

func TestATestReachesItsEndpointOnlyAndOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		ctx := t.Context()
		to := h.endpoint("a", event.RunStarted)
		h.endpoint("b")
		off := false
		if _, err := h.endpoints.Update(ctx, h.who, to.ID(), domain.Expected{}, event.EndpointPatch{Active: &off}); err != nil {
			t.Fatal(err)
		}
		h.receivers.status(500)
		d, err := h.endpoints.Test(ctx, h.who, domain.IdempotencyKey{}, to.ID())
		if err != nil || d.Status() != event.Pending {
			t.Fatal(err)
		}
		h.settle()
		h.sleepUntil(start.AddDate(0, 0, 9))
		h.settle()
		d, err = h.deliveries.Get(ctx, h.who, d.ID())
		if diff := cmp.Diff([]string{"a webhook_endpoint.test"}, h.lines()); diff != "" || err != nil || d.Status() != event.Failed {
			t.Errorf("%+v, %v: %s", d, err, diff)
		}
	})
}

func TestARedeliveryIsSentAtOnceUnderTheSameIdentifier(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		ctx := t.Context()
		to := h.endpoint("a")
		h.receivers.status(500)
		h.happen(event.RunFailed)
		h.settle()
		d := h.all(to)[0]
		h.sleepUntil(start.Add(time.Second))
		redeliver := func(want event.Status, attempts int) {
			t.Helper()
			asked, err := h.deliveries.Redeliver(ctx, h.who, domain.IdempotencyKey{}, d.ID())
			if err != nil || asked.Status() != event.Pending {
				t.Fatal(err)
			}
			h.settle()
			if got := h.all(to)[0]; got.Status() != want || got.Attempted() != attempts {
				t.Errorf("%+v", got.State())
			}
		}
		redeliver(event.Pending, 2)
		off := false
		if _, err := h.endpoints.Update(ctx, h.who, to.ID(), domain.Expected{}, event.EndpointPatch{Active: &off}); err != nil {
			t.Fatal(err)
		}
		redeliver(event.Failed, 3)
		h.receivers.status(200)
		redeliver(event.Delivered, 4)
		for _, m := range h.receivers.got {
			if m.Signature.ID != string(d.ID()) {
				t.Errorf("it is sent as %s", m.Signature.ID)
			}
		}
	})
}

// The endpoint goes between the moment the delivery is found and the unit that changes it.
func TestADeliveryWhoseEndpointGoesMeanwhileDoesNotExist(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		e := h.endpoint("a")
		d, err := h.endpoints.Test(t.Context(), h.who, domain.IdempotencyKey{}, e.ID())
		if err != nil {
			t.Fatal(err)
		}
		idempotency := domain.IdempotencyKey{Key: "k", Scope: "s"}
		h.store.before = func() {
			h.do(func(ctx context.Context, st outbound.Stores) error {
				return st.Webhooks.Endpoints.Delete(ctx, h.who.Scope, e.ID())
			})
		}
		_, err = h.deliveries.Redeliver(t.Context(), h.who, idempotency, d.ID())
		wantError(t, err, domain.NotFound, "delivery_not_found")
	})
}

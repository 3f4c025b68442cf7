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
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	made, err := w.endpoints.Create(ctx, w.who, domain.Once{}, draft)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made.State(), w.now(made).State(), cmpopts.EquateEmpty()); diff != "" || !strings.HasPrefix(made.Secret().Reveal(), "whsec_") || w.endpoint("b").Secret().Equal(made.Secret()) {
		t.Errorf("%s %s", made.Secret(), diff)
	}
	found, err := w.endpoints.List(ctx, w.who, event.EndpointFilter{Search: "/A"}, domain.Query{})
	if err != nil || found.Total != 1 || found.Items[0].ID() != made.ID() {
		t.Errorf("%d: %v", found.Total, err)
	}
	w.clock.Set(noon.Add(time.Minute))
	types, active := []event.Type{event.RunFailed}, false
	changed, err := w.endpoints.Update(ctx, w.who, made.ID(), domain.ExpectOneOf(1), event.EndpointPatch{Events: &types, Active: &active})
	if err != nil || changed.Revision() != 2 || !changed.UpdatedAt().Equal(noon.Add(time.Minute)) {
		t.Fatalf("%+v: %v", changed, err)
	}
	if diff := cmp.Diff(changed.State(), w.now(made).State()); diff != "" || changed.Active() {
		t.Error(diff)
	}
	_, err = w.endpoints.Update(ctx, w.who, made.ID(), domain.ExpectOneOf(1), event.EndpointPatch{})
	wantError(t, err, domain.Conflict, "precondition_failed")
	bad := "nowhere"
	_, err = w.endpoints.Update(ctx, w.who, made.ID(), domain.Expected{}, event.EndpointPatch{URL: &bad})
	wantError(t, err, domain.Invalid, "webhook_endpoint_invalid")
	wantError(t, w.endpoints.Delete(ctx, w.who, made.ID(), domain.ExpectOneOf(1)), domain.Conflict, "precondition_failed")
	if err := w.endpoints.Delete(ctx, w.who, made.ID(), domain.ExpectOneOf(2)); err != nil {
		t.Fatal(err)
	}
	_, err = w.endpoints.Get(ctx, w.who, made.ID())
	wantError(t, err, domain.NotFound, "webhook_endpoint_not_found")
	_, err = w.endpoints.Create(ctx, w.who, domain.Once{}, event.EndpointDraft{})
	wantError(t, err, domain.Invalid, "webhook_endpoint_invalid")
}

// calls are all that can be asked about an endpoint and its delivery.
func (w *world) calls(who tenant.Caller, id event.EndpointID, delivery event.DeliveryID) map[string]error {
	ctx, once := w.Context(), domain.Once{}
	_, get := w.endpoints.Get(ctx, who, id)
	_, update := w.endpoints.Update(ctx, who, id, domain.Expected{}, event.EndpointPatch{})
	_, rotate := w.endpoints.RotateSecret(ctx, who, once, id)
	_, test := w.endpoints.Test(ctx, who, once, id)
	_, list := w.deliveries.List(ctx, who, id, event.DeliveryFilter{}, domain.Query{})
	_, read := w.deliveries.Get(ctx, who, delivery)
	_, again := w.deliveries.Redeliver(ctx, who, once, delivery)
	return map[string]error{
		"get": get, "update": update, "rotate": rotate, "test": test, "list deliveries": list,
		"read a delivery": read, "redeliver": again, "delete": w.endpoints.Delete(ctx, who, id, domain.Expected{}),
	}
}

func TestAPublicKeyMayDoNothingOfThis(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	public := tenant.Caller{Tenant: w.who.Tenant, KeyType: tenant.Public}
	calls := w.calls(public, w.endpoint("a").ID(), "msg_1")
	_, calls["create"] = w.endpoints.Create(t.Context(), public, domain.Once{}, draft)
	_, calls["list"] = w.endpoints.List(t.Context(), public, event.EndpointFilter{}, domain.Query{})
	for what, err := range calls {
		t.Run(what, func(t *testing.T) { wantError(t, err, domain.Forbidden, "key_type_not_allowed") })
	}
}

func TestWhatIsAnotherTenantsDoesNotExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.endpoint("a")
	d, err := w.endpoints.Test(t.Context(), w.who, domain.Once{}, e.ID())
	if err != nil {
		t.Fatal(err)
	}
	absent := w.calls(w.other, "whk_absent", "msg_absent")
	for what, err := range w.calls(w.other, e.ID(), d.ID()) {
		if domain.KindOf(err) != domain.NotFound || err.Error() != absent[what].Error() {
			t.Errorf("%s: %v, but %v of what is absent", what, err, absent[what])
		}
	}
	if e := w.now(e); e.Revision() != 1 {
		t.Errorf("it was changed: %+v", e.State())
	}
}

func TestATenantHasNoMoreEndpointsThanPermitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range event.MaxEndpoints {
		w.endpoint("a")
	}
	_, err := w.endpoints.Create(t.Context(), w.who, domain.Once{}, draft)
	wantError(t, err, domain.Conflict, "webhook_endpoint_limit")
	if _, err := w.endpoints.Create(t.Context(), w.other, domain.Once{}, draft); err != nil {
		t.Error(err)
	}
}

// everything is all there is of endpoints and their deliveries.
func (w *world) everything() (all []any) {
	w.Helper()
	found, err := w.endpoints.List(w.Context(), w.who, event.EndpointFilter{}, domain.Query{})
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range found.Items {
		all = append(all, e.State())
		for _, d := range w.all(e) {
			all = append(all, d.State())
		}
	}
	return all
}

func TestARepeatOfACommandHasNoEffect(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	e := w.endpoint("a")
	w.happen(event.RunFailed)
	w.settle()
	delivered := w.all(e)[0]
	once := func(scope, fingerprint string) domain.Once {
		return domain.Once{Scope: scope, Key: "k", Fingerprint: fingerprint, Answer: func(outcome any) ([]byte, error) {
			switch made := outcome.(type) {
			case *event.Endpoint:
				return fmt.Appendf(nil, "%s %d", made.ID(), made.Revision()), nil
			case *event.Delivery:
				return fmt.Appendf(nil, "%s %s", made.ID(), made.Status()), nil
			}
			return nil, fmt.Errorf("the outcome is %T", outcome)
		}}
	}
	for what, command := range map[string]func(domain.Once) (fmt.Stringer, error){
		"create": func(o domain.Once) (fmt.Stringer, error) {
			made, err := w.endpoints.Create(ctx, w.who, o, draft)
			return textOf(made, err)
		},
		"rotate": func(o domain.Once) (fmt.Stringer, error) {
			made, err := w.endpoints.RotateSecret(ctx, w.who, o, e.ID())
			return textOf(made, err)
		},
		"test": func(o domain.Once) (fmt.Stringer, error) {
			made, err := w.endpoints.Test(ctx, w.who, o, e.ID())
			return textOf(made, err)
		},
		"redeliver": func(o domain.Once) (fmt.Stringer, error) {
			made, err := w.deliveries.Redeliver(ctx, w.who, o, delivered.ID())
			return textOf(made, err)
		},
	} {
		first, err := command(once(what, "same"))
		if err != nil {
			t.Fatal(what, err)
		}
		before := w.everything()
		_, err = command(once(what, "same"))
		var replay *domain.Replay
		if !errors.As(err, &replay) || string(replay.Answer) != first.String() {
			t.Errorf("%s: %v, not the answer %s", what, err, first)
		}
		_, err = command(once(what, "other"))
		wantError(t, err, domain.Invalid, "idempotency_key_reused")
		if diff := cmp.Diff(before, w.everything()); diff != "" {
			t.Errorf("%s: the repeat had an effect: %s", what, diff)
		}
	}
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
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	to := w.endpoint("a", event.RunStarted)
	w.endpoint("b")
	off := false
	if _, err := w.endpoints.Update(ctx, w.who, to.ID(), domain.Expected{}, event.EndpointPatch{Active: &off}); err != nil {
		t.Fatal(err)
	}
	w.receivers.status(500)
	d, err := w.endpoints.Test(ctx, w.who, domain.Once{}, to.ID())
	if err != nil || d.Status() != event.Pending {
		t.Fatal(err)
	}
	w.settle()
	w.clock.Set(noon.AddDate(0, 0, 9))
	w.settle()
	d, err = w.deliveries.Get(ctx, w.who, d.ID())
	if diff := cmp.Diff([]string{"a webhook_endpoint.test"}, w.lines()); diff != "" || err != nil || d.Status() != event.Failed {
		t.Errorf("%+v, %v: %s", d, err, diff)
	}
}

func TestARedeliveryIsSentAtOnceUnderTheSameIdentifier(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	to := w.endpoint("a")
	w.receivers.status(500)
	w.happen(event.RunFailed)
	w.settle()
	d := w.all(to)[0]
	w.clock.Set(noon.Add(time.Second))
	redeliver := func(want event.Status, attempts int) {
		t.Helper()
		asked, err := w.deliveries.Redeliver(ctx, w.who, domain.Once{}, d.ID())
		if err != nil || asked.Status() != event.Pending {
			t.Fatal(err)
		}
		w.settle()
		if got := w.all(to)[0]; got.Status() != want || got.Attempted() != attempts {
			t.Errorf("%+v", got.State())
		}
	}
	redeliver(event.Pending, 2)
	off := false
	if _, err := w.endpoints.Update(ctx, w.who, to.ID(), domain.Expected{}, event.EndpointPatch{Active: &off}); err != nil {
		t.Fatal(err)
	}
	redeliver(event.Failed, 3)
	w.receivers.status(200)
	redeliver(event.Delivered, 4)
	for _, m := range w.receivers.got {
		if m.Signature.ID != string(d.ID()) {
			t.Errorf("it is sent as %s", m.Signature.ID)
		}
	}
}

// The endpoint goes between the moment the delivery is found and the unit that changes it.
func TestADeliveryWhoseEndpointGoesMeanwhileDoesNotExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.endpoint("a")
	d, err := w.endpoints.Test(t.Context(), w.who, domain.Once{}, e.ID())
	if err != nil {
		t.Fatal(err)
	}
	once := domain.Once{Key: "k", Scope: "s"}
	w.store.before = func() {
		w.do(func(ctx context.Context, st outbound.Stores) error {
			return st.Webhooks.Endpoints.Delete(ctx, w.who.Tenant, e.ID())
		})
	}
	_, err = w.deliveries.Redeliver(t.Context(), w.who, once, d.ID())
	wantError(t, err, domain.NotFound, "delivery_not_found")
}

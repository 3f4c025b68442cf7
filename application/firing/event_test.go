package firing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

const paid = `{"webhookConfig":{"event":"paid"}}`

func later(seconds int) func(*trigger.State) {
	return func(st *trigger.State) { st.CreatedAt = st.CreatedAt.Add(time.Duration(seconds) * time.Second) }
}

func TestAnEventFiresEveryTriggerThatListens(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.NewVersion([]string{`a transform {"expression": "1"}`}, nil)
		second, first := d.NewTrigger(ver, paid, later(2)), d.NewTrigger(ver, paid, later(1))
		d.NewTrigger(ver, paid, func(st *trigger.State) { st.Active = false })
		d.NewTrigger(ver, `{"webhookConfig":{"event":"refunded"}}`)
		c := run.EventCall{Call: run.Call{EventData: fixture.Body(`{"entityId":"e"}`), DedupeKey: fixture.Text("k")}, Event: "paid"}
		fired, err := d.Firing.ByEvent(d.Context(), d.Caller, domain.IdempotencyKey{}, c)
		if err != nil {
			t.Fatal(err)
		}
		if got := fixture.Lines(fired, func(f run.Fired) string { return string(f.Trigger) + " " + f.DedupeKey }); got != string(first.ID())+" k, "+string(second.ID())+" k" {
			t.Errorf("%s were fired", got)
		}
		for _, f := range fired {
			if r := d.Get(f.Run); r.Trigger() != f.Trigger || r.Entity() != "e" || r.Cause() != run.CauseByEvent || string(r.Payload()) != `{"entityId":"e"}` {
				t.Errorf("%+v", r.State())
			}
		}
		if told := d.RecordedSignals.Since(); len(told) != 2 {
			t.Errorf("%v are told of", told)
		}
		again, err := d.Firing.ByEvent(d.Context(), d.Caller, domain.IdempotencyKey{}, c)
		d.Same(fired, again)
		if err != nil || len(d.RunsOf(d.Owner)) != 2 {
			t.Errorf("%d runs are there, %v", len(d.RunsOf(d.Owner)), err)
		}
		none, err := d.Firing.ByEvent(d.Context(), d.Caller, domain.IdempotencyKey{}, run.EventCall{Event: "Paid"})
		if err != nil || len(none) > 0 {
			t.Errorf("%v, %v", none, err)
		}
		foreign, err := d.Firing.ByEvent(d.Context(), fixture.SecretCaller(d.NewTenant()), domain.IdempotencyKey{}, c)
		if err != nil || len(foreign) > 0 {
			t.Errorf("another tenant fires %v, %v", foreign, err)
		}
	})
}

func TestAnEventOfASegmentFiresItsTriggersOnly(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion(nil, nil)
	team := tenant.SubTenantID("team")
	d.NewTrigger(ver, paid)
	mine := d.NewTrigger(ver, paid, func(st *trigger.State) { st.SubTenant = team })
	fired, err := d.Firing.ByEvent(t.Context(), d.Caller, domain.IdempotencyKey{}, run.EventCall{Event: "paid", SubTenant: &team})
	if err != nil || len(fired) != 1 || fired[0].Trigger != mine.ID() || d.Get(fired[0].Run).SubTenant() != team {
		t.Errorf("%v, %v", fired, err)
	}
}

func TestAnEventLeavesOutWhatIsAboveItsRateLimit(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.NewVersion(nil, nil)
		limited := d.NewTrigger(ver, `{"webhookConfig":{"event":"paid"},"rateLimit":{"maxRequests":1,"windowMs":60000}}`, later(1))
		free := d.NewTrigger(ver, paid, later(2))
		fires := func(c run.Call) string {
			t.Helper()
			fired, err := d.Firing.ByEvent(d.Context(), d.Caller, domain.IdempotencyKey{}, run.EventCall{Event: "paid", Call: c})
			if err != nil {
				t.Fatal(err)
			}
			return fixture.Lines(fired, func(f run.Fired) string { return string(f.Trigger) })
		}
		both := string(limited.ID()) + ", " + string(free.ID())
		for i, want := range []string{both, string(free.ID())} {
			if got := fires(run.Call{}); got != want {
				t.Errorf("%d: %s", i, got)
			}
		}
		d.Clock.Set(d.Clock.Now().Add(time.Minute))
		for range 3 { // repeats do not count
			if got := fires(run.Call{DedupeKey: fixture.Text("k")}); got != both {
				t.Error(got)
			}
		}
	})
}

func TestAnEventThatIsRepeatedGetsItsFirstAnswer(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	d.NewTrigger(d.NewVersion(nil, nil), paid)
	fired, err := d.Firing.ByEvent(t.Context(), d.Caller, fixture.Keyed("k"), run.EventCall{Event: "paid"})
	if err != nil || len(fired) != 1 || fired[0].DedupeKey != "k" {
		t.Fatal(fired, err)
	}
	_, err = d.Firing.ByEvent(t.Context(), d.Caller, fixture.Keyed("k"), run.EventCall{Event: "paid"})
	if got := fixture.Replayed(err); got != fmt.Sprint(fired) {
		t.Error(got)
	}
	_, err = d.Firing.ByEvent(t.Context(), tenant.Caller{Scope: tenant.All(d.Owner), KeyType: tenant.Public}, domain.IdempotencyKey{}, run.EventCall{Event: "paid"})
	d.WantCode(err, domain.Forbidden, "key_type_not_allowed")
}

package runs_test

import (
	"fmt"
	"testing"
	"time"

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
	atDesk(t, func(d *desk) {
		ver := d.version([]string{`a transform {"expression": "1"}`}, nil)
		second, first := d.trigger(ver, paid, later(2)), d.trigger(ver, paid, later(1))
		d.trigger(ver, paid, func(st *trigger.State) { st.Active = false })
		d.trigger(ver, `{"webhookConfig":{"event":"refunded"}}`)
		c := run.EventCall{Call: run.Call{EventData: body(`{"entityId":"e"}`), DedupeKey: text("k")}, Event: "paid"}
		fired, err := d.firing.ByEvent(d.Context(), d.who, domain.Once{}, c)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(fired, func(f run.Fired) string { return string(f.Trigger) + " " + f.DedupeKey }); got != string(first.ID())+" k, "+string(second.ID())+" k" {
			t.Errorf("%s were fired", got)
		}
		for _, f := range fired {
			if r := d.get(f.Run); r.Trigger() != f.Trigger || r.Entity() != "e" || r.Cause() != run.CauseByEvent || string(r.Payload()) != `{"entityId":"e"}` {
				t.Errorf("%+v", r.State())
			}
		}
		if told := d.told.since(); len(told) != 2 {
			t.Errorf("%v are told of", told)
		}
		again, err := d.firing.ByEvent(d.Context(), d.who, domain.Once{}, c)
		d.same(fired, again)
		if err != nil || len(d.of(d.owner)) != 2 {
			t.Errorf("%d runs are there, %v", len(d.of(d.owner)), err)
		}
		none, err := d.firing.ByEvent(d.Context(), d.who, domain.Once{}, run.EventCall{Event: "Paid"})
		if err != nil || len(none) > 0 {
			t.Errorf("%v, %v", none, err)
		}
		foreign, err := d.firing.ByEvent(d.Context(), secret(d.tenant()), domain.Once{}, c)
		if err != nil || len(foreign) > 0 {
			t.Errorf("another tenant fires %v, %v", foreign, err)
		}
	})
}

func TestAnEventOfASegmentFiresItsTriggersOnly(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	ver := d.version(nil, nil)
	team := tenant.SubTenantID("team")
	d.trigger(ver, paid)
	mine := d.trigger(ver, paid, func(st *trigger.State) { st.SubTenant = team })
	fired, err := d.firing.ByEvent(t.Context(), d.who, domain.Once{}, run.EventCall{Event: "paid", SubTenant: &team})
	if err != nil || len(fired) != 1 || fired[0].Trigger != mine.ID() || d.get(fired[0].Run).SubTenant() != team {
		t.Errorf("%v, %v", fired, err)
	}
}

func TestAnEventLeavesOutWhatIsAboveItsRateLimit(t *testing.T) {
	atDesk(t, func(d *desk) {
		ver := d.version(nil, nil)
		limited := d.trigger(ver, `{"webhookConfig":{"event":"paid"},"rateLimit":{"maxRequests":1,"windowMs":60000}}`, later(1))
		free := d.trigger(ver, paid, later(2))
		fires := func(c run.Call) string {
			t.Helper()
			fired, err := d.firing.ByEvent(d.Context(), d.who, domain.Once{}, run.EventCall{Event: "paid", Call: c})
			if err != nil {
				t.Fatal(err)
			}
			return lines(fired, func(f run.Fired) string { return string(f.Trigger) })
		}
		both := string(limited.ID()) + ", " + string(free.ID())
		for i, want := range []string{both, string(free.ID())} {
			if got := fires(run.Call{}); got != want {
				t.Errorf("%d: %s", i, got)
			}
		}
		d.clock.Set(d.clock.Now().Add(time.Minute))
		for range 3 { // repeats do not count
			if got := fires(run.Call{DedupeKey: text("k")}); got != both {
				t.Error(got)
			}
		}
	})
}

func TestAnEventThatIsRepeatedGetsItsFirstAnswer(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	d.trigger(d.version(nil, nil), paid)
	fired, err := d.firing.ByEvent(t.Context(), d.who, keyed("k"), run.EventCall{Event: "paid"})
	if err != nil || len(fired) != 1 || fired[0].DedupeKey != "k" {
		t.Fatal(fired, err)
	}
	_, err = d.firing.ByEvent(t.Context(), d.who, keyed("k"), run.EventCall{Event: "paid"})
	if got := replayed(err); got != fmt.Sprint(fired) {
		t.Error(got)
	}
	_, err = d.firing.ByEvent(t.Context(), tenant.Caller{Tenant: d.owner, KeyType: tenant.Public}, domain.Once{}, run.EventCall{Event: "paid"})
	d.wantCode(err, domain.Forbidden, "key_type_not_allowed")
}

package schedules_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// However long the gateway was down, however often it came back, however little it did at
// a time, and whichever process did it: every instant of the last 24 hours is in the
// ledger once, in order, and as many runs were started as the catch-up permits.
func TestAfterAnyOutageTheLedgerIsComplete(t *testing.T) {
	t.Parallel()
	w := newEnv(t, openSQLite(t))
	processes := []*schedules.Scheduler{w.scheduler, w.process(w.store), w.process(w.store)}
	begin := noon
	rapid.Check(t, func(rt *rapid.T) {
		begin = begin.AddDate(0, 0, 7) // each check is a week of its own
		w.clock.Set(begin)
		catchUp := rapid.SampledFrom([]trigger.CatchUp{trigger.CatchUpNone, trigger.CatchUpLast, trigger.CatchUpAll}).Draw(rt, "catchUp")
		every := time.Duration(rapid.SampledFrom([]int{60, 420, 3600, 9000, 86400}).Draw(rt, "seconds")) * time.Second
		when := fmt.Sprintf(`"intervalMs":%d`, every.Milliseconds())
		if cron := map[time.Duration]string{time.Minute: "* * * * *", time.Hour: "0 * * * *", 24 * time.Hour: "0 12 * * *"}[every]; cron != "" && rapid.Bool().Draw(rt, "cron") {
			when = fmt.Sprintf(`"cron":%q`, cron)
		}
		trg := w.schedule(1, fmt.Sprintf(`{%s,"catchUp":%q}`, when, catchUp))[0]
		limit := rapid.IntRange(1, 40).Draw(rt, "limit")
		now := begin
		var looks []time.Time
		for range rapid.IntRange(1, 5).Draw(rt, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(0, 26*3600).Draw(rt, "pause")) * time.Second)
			looks = append(looks, now)
			w.clock.Set(now)
			for n, next := 0, now; !next.IsZero() && !next.After(now); n++ {
				look, err := processes[n%len(processes)].FireDue(t.Context(), limit)
				if err != nil {
					rt.Fatal(err)
				}
				next = look.Next
			}
		}
		checkLedger(rt, w.fires(trg), begin, every, looks, catchUp)
		retire(w, trg)
	})
}

// checkLedger holds a ledger against what an interval and the looks at it call for.
func checkLedger(t *rapid.T, got []*trigger.Fire, begin time.Time, every time.Duration, looks []time.Time, catchUp trigger.CatchUp) {
	from := begin
	for _, now := range looks {
		due := dueBetween(begin, every, from, now)
		if len(got) < len(due) {
			t.Fatalf("%d entries of %d between %s and %s", len(got), len(due), from, now)
		}
		started := 0
		for i, at := range due {
			want := wanted(now.Sub(at), now.Sub(due[0]) >= trigger.MissedAfter, i+1 == len(due), catchUp)
			if got[i].Outcome().Starts() {
				started++
			}
			if !got[i].At().Equal(at) || got[i].Outcome() != want || !got[i].RecordedAt().Equal(now) {
				t.Fatalf("at %s: %s of %s was recorded at %s, not %s of %s", now, got[i].Outcome(), got[i].At(), got[i].RecordedAt(), want, at)
			}
		}
		if catchUp != trigger.CatchUpAll && started > 1 || catchUp == trigger.CatchUpNone && started > 0 && len(due) > 1 && now.Sub(due[len(due)-1]) >= trigger.LateAfter {
			t.Fatalf("%d were started with %q", started, catchUp)
		}
		got, from = got[len(due):], now
	}
	if len(got) > 0 {
		t.Fatalf("%d entries too many, the first of %s", len(got), got[0].At())
	}
}

// dueBetween lists the instants after one look, up to the next. One stands for all that
// are too old.
func dueBetween(begin time.Time, every time.Duration, from, now time.Time) (due []time.Time) {
	tooOld := false
	for at := begin.Add(every); !at.After(now); at = at.Add(every) {
		old := at.Before(now.Add(-trigger.MaxLookBack))
		if at.After(from) && (!old || !tooOld) {
			due, tooOld = append(due, at), old
		}
	}
	return due
}

// wanted is what becomes of an instant that is dealt with late, perhaps after an outage.
func wanted(late time.Duration, outage, newest bool, catchUp trigger.CatchUp) trigger.FireOutcome {
	switch {
	case late < trigger.LateAfter:
		return trigger.Fired
	case !outage:
		return trigger.Late
	case late > trigger.MaxLookBack || catchUp == trigger.CatchUpNone || catchUp == trigger.CatchUpLast && !newest:
		return trigger.Skipped
	default:
		return trigger.CaughtUp
	}
}

// retire deletes a trigger.
func retire(w *env, trg *trigger.Trigger) {
	w.Helper()
	w.do(func(ctx context.Context, st outbound.Stores) error {
		return st.Triggers.Delete(ctx, tenant.All(trg.Tenant()), trg.ID())
	})
}

// A fixed time of the day, zones with all sorts of changes, the years in which most of
// them changed: each local day starts one run, whenever somebody looks. That the instants
// are right in every zone and for ten years, package trigger checks.
func TestEachLocalDayStartsOneRunOfAFixedTime(t *testing.T) {
	t.Parallel()
	w := newEnv(t, openSQLite(t))
	zones := strings.Fields("Europe/Berlin America/Nuuk Africa/Cairo Africa/Casablanca Australia/Lord_Howe Asia/Gaza Pacific/Norfolk America/New_York")
	hours := []int{0, 2, 23}
	begin, years := time.Date(2023, 1, 1, 12, 0, 0, 0, time.UTC), 2
	if testing.Short() {
		zones, hours, years = zones[:3], hours[1:2], 1
	}
	w.clock.Set(begin)
	at := make(map[trigger.ID]*time.Location)
	for _, name := range zones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, hour := range hours {
			at[w.schedule(1, fmt.Sprintf(`{"cron":"30 %d * * *","timezone":%q,"catchUp":"all"}`, hour, name))[0].ID()] = zone
		}
	}
	end := begin.AddDate(years, 0, 0)
	for now := begin; now.Before(end); now = now.Add(23 * time.Hour) {
		w.fire(now)
	}
	w.fire(end)
	days := make(map[trigger.ID][]time.Time)
	for _, r := range w.runs.started {
		at, err := time.Parse(time.RFC3339, r.DedupeKey())
		if err != nil {
			t.Fatal(err)
		}
		days[r.Trigger()] = append(days[r.Trigger()], at)
	}
	for id, zone := range at {
		fires := days[id]
		slices.SortFunc(fires, time.Time.Compare)
		want := int(end.Sub(begin).Hours() / 24)
		if len(fires) != want {
			t.Errorf("%s: %d runs in %d days", zone, len(fires), want)
			continue
		}
		for i := 1; i < len(fires); i++ {
			// A change of the clocks moves a fire by at most an hour, to the change.
			if gap := fires[i].Sub(fires[i-1]); gap < 22*time.Hour+30*time.Minute || gap > 25*time.Hour+30*time.Minute {
				t.Errorf("%s: %s after the one before at %s", zone, gap, fires[i].In(zone))
			}
		}
	}
}

package schedules_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// The clocks of the processes of a gateway differ; that of their database is one. Here
// the database's is an hour off, as seen from the process, so that both are told apart.
func TestSchedulesGoByTheClockOfTheDatabase(t *testing.T) {
	for claim, off := range map[string]string{"the process is an hour behind": "1 hour", "the process is an hour ahead": "-1 hour"} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			w := onPostgres(t)
			for _, statement := range []string{
				`CREATE SCHEMA off`,
				`CREATE FUNCTION off.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT pg_catalog.clock_timestamp() + interval '` + off + `' $$`,
			} {
				if _, err := w.connect().ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			store := openPostgres(t, w.address+"&search_path=off,public,pg_catalog")
			now := func() (at time.Time) {
				t.Helper()
				if err := store.Read(t.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
					at, err = st.Runs.Queue.Now(ctx)
					return err
				}); err != nil {
					t.Fatal(err)
				}
				return at
			}
			began := now()
			w.clock.Set(began.Add(-61 * time.Second))
			justDue := w.schedule(1, `{"intervalMs":60000}`)[0]
			w.clock.Set(began.Add(-20 * time.Second))
			notYet := w.schedule(1, `{"intervalMs":60000}`)[0]

			system := shifted(0) // the clock of the process
			look, err := schedules.NewScheduler(recorded{store, w.runs}, nil, w.runs, system, counted, execution.NewAllowance(system, nil)).FireDue(t.Context(), 100)
			ended := now()
			if err != nil || look.Schedules != 2 || look.Now.Before(began) || look.Now.After(ended) || !look.Next.Equal(notYet.ActivatedAt().Add(time.Minute)) {
				t.Errorf("%+v, %v, between %s and %s", look, err, began, ended)
			}
			fires := w.fires(justDue)
			if len(fires) != 1 || fires[0].Outcome() != trigger.Fired || fires[0].RecordedAt().Before(began) || fires[0].RecordedAt().After(ended) {
				t.Errorf("what was due a second ago: %s", w.ledger(justDue))
			}
			if got := w.ledger(notYet); got != "" {
				t.Errorf("what is due in forty seconds: %s", got)
			}
		})
	}
}

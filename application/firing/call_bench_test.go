package firing_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// BenchmarkCall fires one trigger from many goroutines.
func BenchmarkCall(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": fixture.OpenSQLite, "PostgreSQL": fixture.OpenPostgres} {
		for _, once := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/once=%v", name, once), func(b *testing.B) {
				d := newEnv(b, open(b))
				trg := d.NewSimpleTrigger(`{}`)
				data := fixture.Body(`{"order":{"id":"o-1","amount":12.50},"entityId":"customer 7"}`)
				d.Call(trg, run.Call{EventData: data})
				b.SetParallelism(16)
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						o := domain.IdempotencyKey{}
						if once {
							o = fixture.Keyed(fmt.Sprint("key-", serial.Add(1)))
						}
						if _, err := d.Firing.Call(b.Context(), d.Caller, o, trg.ID(), run.Call{EventData: data}); err != nil {
							b.Error(err)
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			})
		}
	}
}

var serial atomic.Int64

// BenchmarkByEvent fires two triggers among a hundred thousand of one tenant.
func BenchmarkByEvent(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": fixture.OpenSQLite, "PostgreSQL": fixture.OpenPostgres} {
		b.Run(name, func(b *testing.B) {
			d := newEnv(b, open(b))
			ver := d.NewVersion(nil, nil)
			const many = 100_000
			for done := 0; done < many; done += 1000 {
				d.Do(func(ctx context.Context, st outbound.Stores) error {
					for i := done; i < done+1000; i++ {
						trg := trigger.Restore(trigger.State{
							ID: trigger.ID(fmt.Sprintf("trg_%026d", i)), Tenant: d.Owner, Version: ver.ID(), Name: "T", Type: trigger.Webhook, Active: true, Revision: 1,
							Config: trigger.RestoreConfig(fmt.Sprintf(`{"webhookConfig":{"event":"event %d"}}`, i/2)), CreatedAt: d.Clock.Now(),
						})
						if err := st.Triggers.Insert(ctx, trg); err != nil {
							return err
						}
					}
					return nil
				})
			}
			n := 0
			for b.Loop() {
				fired, err := d.Firing.ByEvent(b.Context(), d.Caller, domain.IdempotencyKey{}, run.EventCall{Event: fmt.Sprintf("event %d", n%many/2)})
				if err != nil || len(fired) != 2 {
					b.Fatal(fired, err)
				}
				n++
			}
		})
	}
}

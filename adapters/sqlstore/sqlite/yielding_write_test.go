package sqlite_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestWhoWritesLittleWaitsForOneYieldingUnitAtMost(t *testing.T) {
	store := openFile(t, sqlitetest.File(t))
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	begin := func(ctx context.Context, name string, during func()) {
		all.Go(func() {
			err := store.Do(ctx, func(context.Context, outbound.Stores) error {
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				during()
				return nil
			})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	waits := func(most int64) {
		for deadline := time.Now().Add(20 * time.Second); store.Stats()["writer"].WaitCount < most; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not %d units wait", most)
			}
		}
	}
	large := outbound.WithLargeWrite(t.Context(), outbound.LargeWriteBytes)
	began, goOn := make(chan struct{}), make(chan struct{})
	begin(large, "large", func() { close(began); <-goOn })
	<-began
	begin(large, "large later", func() {})
	waits(1)
	gone, leave := context.WithCancel(large)
	begin(gone, "gone", func() {})
	waits(2)
	begin(t.Context(), "small", func() {})
	waits(3)
	leave()
	close(goOn)
	all.Wait()
	order = slices.DeleteFunc(order, func(name string) bool { return name == "gone" }) // it may have had its turn first
	if want := []string{"large", "small", "large later"}; !slices.Equal(order, want) {
		t.Errorf("%q", order)
	}
	begin(large, "afterwards", func() {}) // nobody is left in the line
	all.Wait()
}

// A unit that yields takes a second. In the time after it another one waits as long as the table says.
func TestYieldingUnitsRestWhereOthersWrite(t *testing.T) {
	for claim, c := range map[string]struct {
		small bool
		rests time.Duration
	}{
		"nobody else writes, and they follow one another at once":    {false, 0},
		"somebody wrote before, though nobody waits when it is over": {true, 300 * time.Millisecond},
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := sqlitetest.Open(t)
				do := func(ctx context.Context, takes time.Duration) (began time.Time) {
					err := store.Do(ctx, func(context.Context, outbound.Stores) error {
						began = time.Now()
						time.Sleep(takes)
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
					return began
				}
				large := outbound.WithLargeWrite(t.Context(), outbound.LargeWriteBytes)
				do(large, 0)
				time.Sleep(time.Second)
				if c.small {
					do(t.Context(), 0)
				}
				do(large, time.Second)
				ended := time.Now()
				if rested := do(large, 0).Sub(ended); rested != c.rests {
					t.Errorf("the next one began after %s, not %s", rested, c.rests)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

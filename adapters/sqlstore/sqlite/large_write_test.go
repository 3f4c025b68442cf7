package sqlite_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestWhoWritesLittleWaitsForOneLargeUnitAtMost(t *testing.T) {
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

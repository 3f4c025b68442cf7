package schedules_test

import (
	"strings"
	"testing"
	"time"
)

// A schedule of a tenant that has no storage left goes on: each instant is in the ledger,
// with the reason, and once there is room again it starts runs.
func TestAnInstantWithoutStorageIsInTheLedgerWithTheReason(t *testing.T) {
	onEachStore(t, func(w *env) {
		trg := w.schedule(1, `{"intervalMs":60000}`)[0]
		unlimited := w.scheduler
		w.scheduler = w.processWith(w.store, 1)
		w.fire(noon.Add(time.Minute))
		w.scheduler = unlimited
		w.fire(noon.Add(2 * time.Minute))
		if got := w.ledger(trg); got != "01 12:01:00 suppressed, 01 12:02:00 fired" || len(w.stored(trg)) != 1 {
			w.Errorf("%s, %d runs", got, len(w.stored(trg)))
		}
		if reason := w.fires(trg)[0].Reason(); !strings.Contains(reason, "at most 1 bytes are kept") {
			w.Error(reason)
		}
	})
}

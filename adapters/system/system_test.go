package system_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/domain"
)

func TestIdentifiersAreValidAndSortInTheOrderTheyWereMade(t *testing.T) {
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = system.Random{}.ID("trg")
	}
	for _, id := range ids {
		if !domain.ValidIdentifier(id, "trg") {
			t.Fatalf("%q is not an identifier", id)
		}
	}
	if !slices.IsSorted(ids) {
		t.Error("identifiers made one after another do not sort in that order")
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 10_000 {
		t.Errorf("%d of 10000 identifiers are distinct", n)
	}
}

func TestTheClockSpeaksUTCInWholeMilliseconds(t *testing.T) {
	before := time.Now().Add(-time.Millisecond)
	now := system.Clock{}.Now()
	if now.Location() != time.UTC || now.Nanosecond()%int(time.Millisecond) != 0 {
		t.Errorf("the clock says %v", now)
	}
	if now.Before(before) || now.After(time.Now()) {
		t.Errorf("the clock says %v, the system about %v", now, before)
	}
}

func TestRandomBytesDiffer(t *testing.T) {
	var a, b [32]byte
	system.Random{}.Fill(a[:])
	system.Random{}.Fill(b[:])
	if a == b {
		t.Error("two draws of 32 bytes are equal")
	}
}

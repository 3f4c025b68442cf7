package run_test

import (
	"slices"
	"testing"

	"github.com/sluicehq/sluice/domain/run"
)

func TestTheRunsOfItemsHaveIdentifiersThatSortLikeThem(t *testing.T) {
	t.Parallel()
	const fresh = run.ID("run_01m85k7c71f6w88tw2ea1gftwc")
	var all []run.ID
	for i := range run.MaxItems {
		all = append(all, fresh.Item(i))
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != run.MaxItems || len(all[0]) != len(fresh) {
		t.Errorf("they are from %s to %s", all[0], all[run.MaxItems-1])
	}
	if again := all[7].Item(9); again != all[9] {
		t.Errorf("of another item, item 9 is %s, not %s", again, all[9])
	}
}

package portstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Budget is the contract of outbound.Budget. open gives one of an amount of which nothing
// is held, with the share of a tenant.
func Budget(t *testing.T, open func(whole, share int64) outbound.Budget) {
	t.Run("Order", func(t *testing.T) { budgetOrder(t, open) })
	t.Run("Bounds", func(t *testing.T) { budgetBounds(t, open) })
	t.Run("Most", func(t *testing.T) { budgetMost(t, open) })
	t.Run("Progress", func(t *testing.T) { budgetProgress(t, open) })
}

// askers are those who want some of a budget.
type askers struct {
	*testing.T
	budget outbound.Budget
	said   []string // who has been granted something, or not, in this order; by name where it is at once
	mu     sync.Mutex
	cancel map[string]context.CancelCauseFunc
}

// does lets something happen: "a1+4" is tenant a asking for 4, "a-4" releasing it, "a1!"
// no longer waiting, "a?4" asking for what is there at once.
func (k *askers) does(what string) {
	k.Helper()
	owner := tenant.ID(what[:1])
	var amount int64
	at := strings.IndexAny(what, "+-!?")
	_, _ = fmt.Sscan(what[at+1:], &amount) // none behind !
	before := len(k.said)
	switch what[at] {
	case '+':
		name := what[:at]
		ctx, cancel := context.WithCancelCause(context.Background())
		k.cancel[name] = cancel
		go func() {
			if err := k.budget.Reserve(ctx, owner, amount); err != nil {
				name += " " + err.Error()
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			k.said = append(k.said, name)
		}()
	case '-':
		k.budget.Release(owner, amount)
	case '!':
		k.cancel[what[:at]](errors.New("waits no more"))
	case '?':
		k.said = append(k.said, fmt.Sprint(what, " ", k.budget.TryReserve(owner, amount)))
	}
	synctest.Wait()
	slices.Sort(k.said[before:])
}

// Of 12 a tenant has at most 3, and one thing at most 6.
func budgetOrder(t *testing.T, open func(whole, share int64) outbound.Budget) {
	for claim, c := range map[string]struct{ happens, want string }{
		"what fits is granted":                                      {"a1+3 b1+3 c1+3 d1+3", "a1, b1, c1, d1"},
		"a tenant has no more than its share":                       {"a1+2 a2+2 b1+2 a-2", "a1, b1, a2"},
		"who came first is first":                                   {"a1+3 b1+3 c1+3 d1+2 e1+2 f1+1 a-3", "a1, b1, c1, d1, e1, f1"},
		"also when less would fit":                                  {"a1+3 b1+3 c1+3 d1+2 e1+2 f1+1 e?1 e1!", "a1, b1, c1, d1, e?1 false, e1 waits no more, f1"},
		"who waits for its own tenant holds up nobody else":         {"a1+2 a2+2 b1+2 c?2", "a1, b1, c?2 true"},
		"but its own tenant":                                        {"a1+2 a2+2 a3+1 a?1 a-2", "a1, a?1 false, a2, a3"},
		"tenants take turns, however many requests one of them has": {"a1+3 a2+3 a3+3 b1+3 c1+3 d1+3 e1+3 a-3 a-3 b-3", "a1, b1, c1, d1, a2, e1, a3"},
		"whose wait is cancelled is passed over":                    {"a1+3 b1+3 c1+3 d1+2 e1+3 f1+1 e1!", "a1, b1, c1, d1, e1 waits no more, f1"},
		"of its tenant the next one comes":                          {"a1+3 a2+3 a3+1 a2! a-3", "a1, a2 waits no more, a3"},
		"who does not wait takes what is there":                     {"a?2 a?2 b?3 c?3 d?3 e?2", "a?2 true, a?2 false, b?3 true, c?3 true, d?3 true, e?2 false"},
		"and leaves no trace where there was nothing":               {"a?3 a?3 a-3 a?3", "a?3 true, a?3 false, a?3 true"},
		"several are granted what one has released":                 {"a1+3 b1+3 c1+3 d1+3 e1+1 f1+1 g1+1 a-3", "a1, b1, c1, d1, e1, f1, g1"},
		"one thing may be larger than a share":                      {"a1+6 a2+1 b1+3", "a1, b1"},
		"but not with another of its tenant":                        {"a1+1 a2+4 a-1", "a1, a2"},
		"nor with others above a share, who hold up nobody else":    {"a1+6 b1+4 c1+3 a-6 c-3", "a1, c1, b1"},
		"except those who want as much":                             {"a1+4 b1+5 c1+4 c?4 d?2 a-4 b-5", "a1, c?4 false, d?2 true, b1, c1"},
		"small ones do not overtake a large one for ever":           {"a1+3 b1+3 c1+3 d1+6 e1+3 e?3 a-3 b-3", "a1, b1, c1, e?3 false, d1, e1"},
		"a large one waits for no more than it takes":               {"a1+3 b1+3 c1+6 d1+1", "a1, b1, c1"},
		"what is larger than the most is the most":                  {"a1+99 b1+3 a-99 b?3 c?6 a?1", "a1, b1, b?3 false, c?6 true, a?1 true"},
		"nothing is always there":                                   {"a1+6 b1+6 c1+6 a?0 a-0 a2+0", "a1, a?0 true, a2"},
		"what is released goes to who waits before it is there":     {"a1+3 b1+3 c1+3 d1+3 e1+3 a-3 f?3", "a1, b1, c1, d1, e1, f?3 false"},
		"what nobody waits for because of its own share is there":   {"a1+3 a2+3 b?3 c?3 d?3", "a1, b?3 true, c?3 true, d?3 true"},
	} {
		synctest.Test(t, func(t *testing.T) {
			all := &askers{T: t, budget: open(12, 3), cancel: make(map[string]context.CancelCauseFunc)}
			for what := range strings.FieldsSeq(c.happens) {
				all.does(what)
			}
			if diff := cmp.Diff(c.want, strings.Join(all.said, ", ")); diff != "" {
				t.Errorf("%s: %s", claim, diff)
			}
			for _, cancel := range all.cancel {
				cancel(nil)
			}
		})
	}
}

// budgetBounds lets anything happen: nobody holds more than is there, no two hold nearly all
// of it, and what is granted at once is what may be.
func budgetBounds(t *testing.T, open func(whole, share int64) outbound.Budget) {
	rapid.Check(t, func(t *rapid.T) {
		const whole, share, most = 12, 3, 6
		b := open(whole, share)
		type holder struct {
			owner  tenant.ID
			amount int64
		}
		var held []holder
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "release") {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "whose")
				b.Release(held[i].owner, held[i].amount)
				held = append(held[:i], held[i+1:]...)
				continue
			}
			h := holder{tenant.ID(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "owner")), rapid.Int64Range(0, 9).Draw(t, "amount")}
			counted := min(h.amount, most)
			used, large, of := int64(0), int64(0), map[tenant.ID]int64{}
			for _, other := range held {
				used += min(other.amount, most)
				of[other.owner] += min(other.amount, most)
			}
			for _, amount := range of {
				if amount > share {
					large += amount
				}
			}
			own := of[h.owner]
			want := counted == 0 || used+counted <= whole && (own+counted <= share || own == 0 && large+counted <= most)
			if got := b.TryReserve(h.owner, h.amount); got != want {
				t.Fatalf("%+v with %+v: %v", h, held, got)
			} else if got {
				held = append(held, h)
			}
		}
		for _, h := range held {
			b.Release(h.owner, h.amount)
		}
		for _, owner := range []tenant.ID{"a", "b", "c", "d"} {
			if !b.TryReserve(owner, share) {
				t.Errorf("tenant %s does not get its share when nothing is held", owner)
			}
		}
	})
}

func budgetMost(t *testing.T, open func(whole, share int64) outbound.Budget) {
	for _, c := range []struct{ whole, share, most int64 }{{12, 3, 6}, {12, 4, 4}, {4, 2, 2}, {1, 0, 1}, {2, 0, 1}, {3, 1, 1}, {100, 25, 50}} {
		b := open(c.whole, c.share)
		if got := b.Max(); got < 1 || c.share > 0 && got != c.most {
			t.Errorf("of %d with a share of %d the most is %d, not %d", c.whole, c.share, got, c.most)
		}
		if !b.TryReserve("a", c.whole) {
			t.Errorf("of %d with a share of %d there is nothing to begin with", c.whole, c.share)
		}
		if c.whole > 1 && !b.TryReserve("b", 1) {
			t.Errorf("of %d with a share of %d one tenant has all", c.whole, c.share)
		}
	}
}

// budgetProgress has many askers at the same time, each of whom waits for as long as it
// takes: all are granted what they want, and in the end nothing is held.
func budgetProgress(t *testing.T, open func(whole, share int64) outbound.Budget) {
	b := open(12, 3)
	var all sync.WaitGroup
	for i := range 60 {
		owner, amount := tenant.ID([]string{"a", "b", "c", "d", "e"}[i%5]), int64(1+i%7)
		all.Go(func() {
			for range 50 {
				if err := b.Reserve(t.Context(), owner, amount); err != nil {
					t.Error(err)
				}
				b.Release(owner, amount)
			}
		})
	}
	all.Wait()
	for _, owner := range []tenant.ID{"a", "b", "c", "d"} {
		if !b.TryReserve(owner, 3) {
			t.Errorf("tenant %s does not get its share when nothing is held", owner)
		}
	}
}

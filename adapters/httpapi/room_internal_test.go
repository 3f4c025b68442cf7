package httpapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/tenant"
)

// crowd is a room of 12, of which a tenant gets 3, and those who want some of it.
type crowd struct {
	*testing.T
	room *room
	said []string // who has got room, or has not, in this order; by name where it is at once
	mu   sync.Mutex
	gone map[string]context.CancelCauseFunc
}

func newCrowd(t *testing.T) *crowd {
	return &crowd{T: t, room: newRoom(12, 3), gone: make(map[string]context.CancelCauseFunc)}
}

// does lets something happen: "a1+4" is tenant a asking for 4, "a-4" giving it back,
// "a1!" its no longer waiting, and "a?4" asking for what is there at once.
func (c *crowd) does(what string) {
	c.Helper()
	owner := tenant.ID(what[:1])
	size := int(what[len(what)-1] - '0')
	before := len(c.said)
	switch at := strings.IndexAny(what, "+-!?"); what[at] {
	case '+':
		name := what[:at]
		ctx, leave := context.WithCancelCause(context.Background())
		c.gone[name] = leave
		go func() {
			err := c.room.take(ctx, owner, size)
			if err != nil {
				name += " " + err.Error()
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.said = append(c.said, name)
		}()
	case '-':
		c.room.give(owner, size)
	case '!':
		c.gone[what[:at]](errors.New("waits no more"))
	case '?':
		c.said = append(c.said, fmt.Sprint(what, " ", c.room.tryTake(owner, size)))
	}
	synctest.Wait()
	slices.Sort(c.said[before:])
}

func TestWhoGetsRoom(t *testing.T) {
	for claim, c := range map[string]struct{ happens, want string }{
		"what fits":                                   {"a1+3 b1+3 c1+3 d1+3", "a1, b1, c1, d1"},
		"a tenant has no more than its share":         {"a1+2 a2+2 b1+2 a-2", "a1, b1, a2"},
		"who came first is first":                     {"a1+3 b1+3 c1+3 d1+2 e1+2 f1+1 a-3", "a1, b1, c1, d1, e1, f1"},
		"also when less would fit":                    {"a1+3 b1+3 c1+3 d1+2 e1+2 f1+1 e?1 e1!", "a1, b1, c1, d1, e?1 false, e1 waits no more, f1"},
		"who waits for its own tenant stops nobody":   {"a1+2 a2+2 a3+1 b1+2", "a1, a3, b1"},
		"what was given up is somebody's":             {"a1+3 b1+3 c1+3 d1+2 e1+3 f1+1 e1!", "a1, b1, c1, d1, e1 waits no more, f1"},
		"who does not wait takes what is there":       {"a?2 a?2 b?3 c?3 d?3 e?2", "a?2 true, a?2 false, b?3 true, c?3 true, d?3 true, e?2 false"},
		"and leaves no trace where there was nothing": {"a?3 a?3 a-3 a?3", "a?3 true, a?3 false, a?3 true"},
		"several for what one has held":               {"a1+3 b1+3 c1+3 d1+3 e1+1 f1+1 g1+1 a-3", "a1, b1, c1, d1, e1, f1, g1"},
		"one thing may be larger than a share":        {"a1+6 a2+1 b1+3", "a1, b1"},
		"but not beside another of its tenant":        {"a1+1 a2+4 a-1", "a1, a2"},
		"nor where two shares are not left":           {"a1+6 b1+4 c1+3 a-6 c-3", "a1, c1, b1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			crowd := newCrowd(t)
			for what := range strings.FieldsSeq(c.happens) {
				crowd.does(what)
			}
			if diff := cmp.Diff(c.want, strings.Join(crowd.said, ", ")); diff != "" {
				t.Errorf("%s: %s", claim, diff)
			}
			for _, leave := range crowd.gone {
				leave(nil)
			}
		})
	}
}

func TestWhatIsLargerThanThereCanBeHasAllThatThereCan(t *testing.T) {
	t.Parallel()
	h := holding{room: newRoom(12, 3), owner: "a"}
	for range 2 { // in place of what is held
		if !h.tryTake(7) || !h.has(8) || h.room.taken != 6 {
			t.Errorf("%d of 12 are taken", h.room.taken)
		}
	}
	other := holding{room: h.room, owner: "a"}
	if !other.has(0) || other.has(1) || other.tryTake(1) || h.room.taken != 6 {
		t.Errorf("another one of the tenant holds %d", other.size)
	}
	h.giveBack()
	if h.giveBack(); h.room.taken != 0 {
		t.Errorf("%d are taken when nobody is there", h.room.taken)
	}
}

// Whatever happens, nobody has more than there is, no two have all of it, and in the end
// nobody has anything.
func TestThereIsNeverMoreRoomThanThereIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRoom(12, 3)
		type holder struct {
			owner tenant.ID
			size  int
		}
		var held []holder
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "give") {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "who")
				r.give(held[i].owner, held[i].size)
				held = append(held[:i], held[i+1:]...)
				continue
			}
			h := holder{tenant.ID(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "owner")), rapid.IntRange(0, 6).Draw(t, "size")}
			all, of := h.size, map[tenant.ID]int{}
			for _, other := range held {
				all += other.size
				of[other.owner] += other.size
			}
			own := of[h.owner] + h.size
			want := all <= 12 && own <= 3 || all <= 6 && own == h.size
			if got := r.tryTake(h.owner, h.size); got != want {
				t.Fatalf("%+v beside %+v: %v", h, held, got)
			} else if got {
				held = append(held, h)
				of[h.owner] = own
			}
			if most := slices.Sorted(maps.Values(of)); len(most) > 1 && most[len(most)-1]+most[len(most)-2] > 9 {
				t.Fatalf("two have nearly all: %v", of)
			}
		}
		for _, h := range held {
			r.give(h.owner, h.size)
		}
		if r.taken != 0 || len(r.of) != 0 || len(r.waiting) != 0 {
			t.Errorf("what is left: %d, %v, %d", r.taken, r.of, len(r.waiting))
		}
	})
}

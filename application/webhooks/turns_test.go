package webhooks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
)

// A tenant of the table has so many endpoints, and so many events that wait, older than those of
// the tenants that follow. Each unit is to take of each tenant as many events as it says.
func TestTenantsWithEventsThatWaitTakeTurns(t *testing.T) {
	type has struct{ endpoints, events int }
	for claim, c := range map[string]struct {
		tenants []has
		want    []string
	}{
		"whose events go to a hundred endpoints gets a unit for each, and the others all of theirs in between": {
			[]has{{100, 3}, {1, 20}, {2, 20}}, []string{"1 0 0", "0 20 20", "1 0 0", "1 0 0", "0 0 0"},
		},
		"who does not fit into a unit after others begins the next one": {
			[]has{{1, 40}, {30, 5}, {1, 10}}, []string{"40 2 0", "0 3 10", "0 0 0"},
		},
		"who fills a unit alone comes after the others in the next one": {
			[]has{{1, 150}, {1, 30}, {1, 30}}, []string{"100 0 0", "40 30 30", "10 0 0", "0 0 0"},
		},
		"of events that nobody wants a unit takes a hundred at most, too": {
			[]has{{0, 120}, {100, 1}, {0, 1}}, []string{"100 0 0", "20 1 1", "0 0 0"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				var owners []tenant.Caller
				for _, one := range c.tenants {
					who := h.tenant()
					owners = append(owners, who)
					for i := range one.endpoints {
						h.endpointOf(who, fmt.Sprint(who.Tenant(), i), event.RunCompleted)
					}
					for range one.events {
						h.happenTo(who, event.RunCompleted)
					}
				}
				left := func() (n []int) {
					n = make([]int, len(owners))
					for _, e := range h.waiting() {
						for i, who := range owners {
							if e.Tenant() == who.Tenant() {
								n[i]++
							}
						}
					}
					return n
				}
				before := left()
				for unit, want := range c.want {
					if _, err := h.dispatcher.FanOut(t.Context(), 100); err != nil {
						t.Fatal(err)
					}
					var took []string
					after := left()
					for i := range after {
						took = append(took, fmt.Sprint(before[i]-after[i]))
					}
					if got := strings.Join(took, " "); got != want {
						t.Fatalf("unit %d took %s, not %s", unit, got, want)
					}
					before = after
				}
			})
		})
	}
}

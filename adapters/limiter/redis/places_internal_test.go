package redis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var (
	start  = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	sorted = cmpopts.SortSlices(func(a, b string) bool { return a < b })
)

func TestNoTwoPlacesHaveTheSameName(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range []*places{newPlaces(), newPlaces()} {
		for range 1000 {
			token, _ := p.want("a")
			if seen[token] {
				t.Fatalf("%s again", token)
			}
			seen[token] = true
		}
	}
}

func TestARequestTakesAlongWhatItsSubjectLeft(t *testing.T) {
	p := newPlaces()
	for i := range 3 {
		p.hold("a", fmt.Sprint("a", i), start)
		p.hold("b", fmt.Sprint("b", i), start)
	}
	p.leave("a", "a0", start)
	p.leave("a", "a2", start)
	p.leave("b", "b1", start)
	_, left := p.want("a")
	if diff := cmp.Diff([]string{"a0", "a2"}, left, sorted); diff != "" {
		t.Error(diff)
	}
	p.heard("a", []string{"a0"})
	if _, left = p.want("a"); !slices.Equal(left, []string{"a2"}) {
		t.Errorf("a request takes %v along", left)
	}
	if diff := cmp.Diff(map[string][]string{"a": {"a2"}, "b": {"b1"}}, p.toFree()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{"a": {"a1", "a2"}, "b": {"b0", "b1", "b2"}}, p.all(), sorted); diff != "" {
		t.Error(diff)
	}
}

func TestOldLeasesAreRenewedOnce(t *testing.T) {
	p := newPlaces()
	p.hold("a", "old", start)
	p.hold("a", "new", start.Add(time.Second))
	p.hold("a", "left", start)
	p.leave("a", "left", start)
	due := []map[string][]string{p.toRenew(start.Add(time.Second), start.Add(2*time.Second)), p.toRenew(start.Add(time.Second), start.Add(2*time.Second))}
	if diff := cmp.Diff([]map[string][]string{{"a": {"old"}}, {}}, due); diff != "" {
		t.Error(diff)
	}
}

func TestPlacesThatWereLeftLongAgoAreForgotten(t *testing.T) {
	p := newPlaces()
	p.leave("a", "old", start)
	p.leave("b", "old", start)
	p.leave("b", "new", start.Add(time.Second))
	p.expire(start.Add(time.Second))
	if diff := cmp.Diff(map[string][]string{"b": {"new"}}, p.toFree()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	p := newPlaces()
	for i := range maxLeft + 500 {
		p.hold("a", fmt.Sprint(i), start)
		p.leave("a", fmt.Sprint(i), start)
	}
	if n := len(p.toFree()["a"]); n != maxLeft {
		t.Errorf("%d places that were left are kept", n)
	}
	_, left := p.want("a")
	if len(left) != maxSent {
		t.Errorf("a request takes %d along", len(left))
	}
	p.expire(start.Add(time.Second))
	p.leave("a", "one more", start)
	if diff := cmp.Diff(map[string][]string{"a": {"one more"}}, p.toFree()); diff != "" {
		t.Error(diff)
	}
}

func TestNothingStaysOfSubjectsThatHaveNoPlaces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPlaces()
		subject, token := rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"1", "2", "3"})
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			s, n := subject.Draw(rt, "subject"), token.Draw(rt, "place")
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				p.hold(s, n, start)
			case 1:
				p.leave(s, n, start)
			case 2:
				p.heard(s, []string{n})
			}
			for _, l := range []leases{p.held, p.left} {
				n := 0
				for _, tokens := range l.of {
					if n += len(tokens); len(tokens) == 0 {
						rt.Fatal("an empty subject is kept")
					}
				}
				if n != l.count {
					rt.Fatalf("%d leases, counted %d", n, l.count)
				}
			}
		}
		for s, tokens := range p.all() {
			for _, n := range tokens {
				p.leave(s, n, start)
				p.heard(s, []string{n})
			}
		}
		if len(p.held.of)+len(p.left.of)+p.held.count+p.left.count != 0 {
			rt.Fatalf("left over: %+v", p)
		}
	})
}

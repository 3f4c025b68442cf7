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

func TestTokensAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range []*slots{newSlots(), newSlots()} {
		for range 1000 {
			token, _ := p.newToken("a")
			if seen[token] {
				t.Fatalf("%s again", token)
			}
			seen[token] = true
		}
	}
}

func TestARequestCarriesTheReleasedTokensOfItsSubject(t *testing.T) {
	p := newSlots()
	for i := range 3 {
		p.hold("a", fmt.Sprint("a", i), start)
		p.hold("b", fmt.Sprint("b", i), start)
	}
	p.release("a", "a0", start)
	p.release("a", "a2", start)
	p.release("b", "b1", start)
	_, released := p.newToken("a")
	if diff := cmp.Diff([]string{"a0", "a2"}, released, sorted); diff != "" {
		t.Error(diff)
	}
	p.confirmReleased("a", []string{"a0"})
	if _, released = p.newToken("a"); !slices.Equal(released, []string{"a2"}) {
		t.Errorf("a request carries %v", released)
	}
	if diff := cmp.Diff(map[string][]string{"a": {"a2"}, "b": {"b1"}}, p.unconfirmed()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{"a": {"a1", "a2"}, "b": {"b0", "b1", "b2"}}, p.all(), sorted); diff != "" {
		t.Error(diff)
	}
}

func TestOldLeasesAreRenewedOnce(t *testing.T) {
	p := newSlots()
	p.hold("a", "old", start)
	p.hold("a", "new", start.Add(time.Second))
	p.hold("a", "released", start)
	p.release("a", "released", start)
	due := []map[string][]string{p.dueForRenewal(start.Add(time.Second), start.Add(2*time.Second)), p.dueForRenewal(start.Add(time.Second), start.Add(2*time.Second))}
	if diff := cmp.Diff([]map[string][]string{{"a": {"old"}}, {}}, due); diff != "" {
		t.Error(diff)
	}
}

func TestPlacesThatWereReleasedLongAgoAreForgotten(t *testing.T) {
	p := newSlots()
	p.release("a", "old", start)
	p.release("b", "old", start)
	p.release("b", "new", start.Add(time.Second))
	p.forgetReleased(start.Add(time.Second))
	if diff := cmp.Diff(map[string][]string{"b": {"new"}}, p.unconfirmed()); diff != "" {
		t.Error(diff)
	}
}

func TestReleasedTokensAreBounded(t *testing.T) {
	p := newSlots()
	for i := range maxReleased + 500 {
		p.hold("a", fmt.Sprint(i), start)
		p.release("a", fmt.Sprint(i), start)
	}
	if n := len(p.unconfirmed()["a"]); n != maxReleased {
		t.Errorf("%d released slots are kept", n)
	}
	_, released := p.newToken("a")
	if len(released) != maxReleasedPerRequest {
		t.Errorf("a request carries %d", len(released))
	}
	p.forgetReleased(start.Add(time.Second))
	p.release("a", "one more", start)
	if diff := cmp.Diff(map[string][]string{"a": {"one more"}}, p.unconfirmed()); diff != "" {
		t.Error(diff)
	}
}

func TestSubjectsWithoutPlacesAreForgotten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newSlots()
		subject, token := rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"1", "2", "3"})
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			s, n := subject.Draw(rt, "subject"), token.Draw(rt, "slot")
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				p.hold(s, n, start)
			case 1:
				p.release(s, n, start)
			case 2:
				p.confirmReleased(s, []string{n})
			}
			for _, l := range []leases{p.held, p.released} {
				n := 0
				for _, tokens := range l.bySubject {
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
				p.release(s, n, start)
				p.confirmReleased(s, []string{n})
			}
		}
		if len(p.held.bySubject)+len(p.released.bySubject)+p.held.count+p.released.count != 0 {
			rt.Fatalf("%+v is not empty", p)
		}
	})
}

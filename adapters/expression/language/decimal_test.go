package language

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func sameNumber(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// TestRemaindersAreExact compares with the library's remainder, which takes as many
// rounds as the exponents differ by.
func TestRemaindersAreExact(t *testing.T) {
	m := &Machine{steps: math.MaxInt}
	edges := []float64{0, math.Copysign(0, -1), 1, -1, 5, -5.5, 7, 3.3e-308, 7.1e-310, 5e-324, 1e308, math.MaxFloat64, 1 << 53, 1<<53 + 2, 1 << 63, 4294967296, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, x := range edges {
		for _, y := range edges {
			if got, want := m.remainder(x, y), math.Mod(x, y); !sameNumber(got, want) {
				t.Errorf("%v %% %v = %v, want %v", x, y, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x, y := math.Float64frombits(rapid.Uint64().Draw(t, "x")), math.Float64frombits(rapid.Uint64().Draw(t, "y"))
		if got, want := m.remainder(x, y), math.Mod(x, y); !sameNumber(got, want) {
			t.Fatalf("%v %% %v = %v, want %v", x, y, got, want)
		}
	})
}

func TestBitsAreThoseOfTheWholeNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1<<70, 1<<70)).Draw(t, "f")
		want := math.Mod(math.Trunc(f), 1<<32)
		if want < 0 {
			want += 1 << 32
		}
		if got := toUint32(f); float64(got) != want {
			t.Fatalf("%v gives %d, want %v", f, got, want)
		}
	})
}

// TestLongTextsAreFoundWhereTheyStand compares the search with one that looks everywhere.
func TestLongTextsAreFoundWhereTheyStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]byte("aaaaaaab")), 0, 300).Draw(t, "s")
		s := string(letters)
		from := rapid.IntRange(0, len(s)).Draw(t, "from")
		p := s[from:rapid.IntRange(from, len(s)).Draw(t, "to")] + rapid.SampledFrom([]string{"", "", "b", "a"}).Draw(t, "more")
		first, last := -1, -1
		for i := 0; i+len(p) <= len(s); i++ {
			if s[i:i+len(p)] == p {
				if last = i; first < 0 {
					first = i
				}
			}
		}
		m := &Machine{steps: math.MaxInt, memory: math.MaxInt}
		if i, j := m.search(s, p), m.searchLast(s, p); i != first || j != last {
			t.Fatalf("%q in %q is found at %d and %d, want %d and %d", p, s, i, j, first, last)
		}
	})
}

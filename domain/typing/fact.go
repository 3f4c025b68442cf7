package typing

import "strconv"

// Fact is what is known of the value that a path leads to.
type Fact struct {
	Path  string // as [MemberPath] spells it
	Kinds Kind   // the value is of one of these
}

// MemberPath is the path of a member of what is at a path; empty where that is.
func MemberPath(of, name string) string {
	if of == "" {
		return ""
	}
	return of + "." + strconv.Quote(name)
}

// Both are the facts that hold where all of either list do.
func Both(a, b []Fact) []Fact {
	all := make([]Fact, 0, len(a)+len(b))
	place := make(map[string]int, len(a)+len(b))
	for _, list := range [][]Fact{a, b} {
		for _, f := range list {
			if i, again := place[f.Path]; again {
				all[i].Kinds &= f.Kinds
				continue
			}
			place[f.Path] = len(all)
			all = append(all, f)
		}
	}
	return all
}

// Either are the facts that hold where all of one of the lists do. No list has a path twice.
func Either(a, b []Fact) []Fact {
	kinds := make(map[string]Kind, len(b))
	for _, f := range b {
		kinds[f.Path] = f.Kinds
	}
	var all []Fact
	for _, f := range a {
		if other, shared := kinds[f.Path]; shared {
			all = append(all, Fact{f.Path, f.Kinds | other})
		}
	}
	return all
}

package jsonread

import (
	"iter"

	"github.com/sluicehq/sluice/domain"
)

// Array is a JSON array of a body. The zero value is empty.
type Array struct {
	tree *tree
	at   uint32
	form bool
}

// Len counts the elements.
func (a Array) Len() int {
	n := 0
	for range a.All() {
		n++
	}
	return n
}

// All yields the elements in order.
func (a Array) All() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if a.tree == nil {
			return
		}
		nodes := a.tree.nodes
		for i, index := a.at+1, 0; i < nodes[a.at].after; i, index = nodes[i].after, index+1 {
			if !yield(index, Value{a.tree, i, a.form}) {
				return
			}
		}
	}
}

// Objects takes every element as an object; one of another type is a violation and
// left empty, so that the indexes stay those of the client. Reading ends after
// many violations.
func (a Array) Objects(r *domain.Rules) []Object { return elements(a, r, Value.Object) }

// Strings takes every element as a string, as [Array.Objects] does.
func (a Array) Strings(r *domain.Rules) []string { return elements(a, r, Value.String) }

func elements[T any](a Array, r *domain.Rules, get func(Value, *domain.Rules) (T, bool)) []T {
	all, bad := []T{}, 0
	for _, e := range a.All() {
		value, ok := get(e, r)
		all = append(all, value)
		if !ok {
			bad++
		}
		if bad == maxFindings {
			break
		}
	}
	return all
}

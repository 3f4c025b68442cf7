package language

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
)

// ownKeys lists the names of the members of an object or array, in the order of
// the language: of data by name, of created objects as they were written, array
// indices first.
func (m *Machine) ownKeys(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		m.spend(len(v)+len(v)*bits.Len(uint(len(v)))>>4, 32*len(v))
		keys := make([]string, 0, len(v))
		for k := range v {
			m.work(len(k))
			keys = append(keys, k)
		}
		sortKeys(keys)
		return keys
	case *object:
		m.spend(len(v.keys), 0)
		if !v.numeric {
			return v.keys
		}
		m.alloc(32 * len(v.keys))
		keys := slices.Clone(v.keys)
		indicesFirst(keys)
		return keys
	}
	n := 0
	if elems, ok := elements(v); ok {
		n = len(elems)
	} else if s, isText := v.(string); isText {
		n = m.unitLen(s)
	}
	m.spend(n, 32*n)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	return keys
}

// sortKeys orders keys: array indices first, by number, then the others by their
// bytes.
func sortKeys(keys []string) { slices.Sort(keys[indicesFirst(keys):]) }

// indicesFirst moves the array indices among the keys to the front, ordered by number,
// and returns how many there are. The others stay in their order.
func indicesFirst(keys []string) int {
	type numbered struct {
		key    string
		number uint32
	}
	var indices []numbered
	others := keys[:0]
	for _, key := range keys {
		if n, isIndex := arrayIndex(key); isIndex {
			indices = append(indices, numbered{key, n})
		} else {
			others = append(others, key)
		}
	}
	if len(indices) == 0 {
		return 0
	}
	slices.SortFunc(indices, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	copy(keys[len(indices):], others)
	for i, index := range indices {
		keys[i] = index.key
	}
	return len(indices)
}

package expression

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unsafe"
)

// The values of an evaluation: nil (JavaScript's null), undefined, bool, float64,
// string, and for objects and arrays either what the environment holds
// (map[string]any, []any) or what the expression created (*object, *array).
// Nothing changes a value once another can see it.

type undefinedType struct{}

// undefined is JavaScript's.
var undefined any = undefinedType{}

// brokenChain is what an optional chain gives after its ?. met null or undefined,
// until the end of the chain makes undefined of it.
type brokenChain struct{}

var broken any = brokenChain{}

// array is one that the expression created.
type array struct {
	elems []any
}

// object is one that the expression created. It remembers the order of its
// members; numeric says that some key is an array index, which comes first.
type object struct {
	keys    []string
	vals    []any
	index   map[string]int // nil while there are few keys
	numeric bool
}

const fewKeys = 8

func (o *object) find(key string) (int, bool) {
	if o.index != nil {
		i, ok := o.index[key]
		return i, ok
	}
	for i, k := range o.keys {
		if k == key {
			return i, true
		}
	}
	return 0, false
}

func (o *object) get(key string) (any, bool) {
	if i, ok := o.find(key); ok {
		return o.vals[i], true
	}
	return undefined, false
}

// set is for an object that nothing else sees yet.
func (m *machine) set(o *object, key string, value any) {
	if i, ok := o.find(key); ok {
		o.vals[i] = value
		return
	}
	m.alloc(48 + len(key))
	o.keys = append(o.keys, key)
	o.vals = append(o.vals, value)
	if _, isIndex := arrayIndex(key); isIndex {
		o.numeric = true
	}
	if o.index != nil {
		o.index[key] = len(o.keys) - 1
	} else if len(o.keys) > fewKeys {
		o.index = make(map[string]int, 2*len(o.keys))
		for i, k := range o.keys {
			o.index[k] = i
		}
	}
}

// arrayIndex reads a key that is the canonical spelling of an array index.
func arrayIndex(key string) (uint32, bool) {
	if key == "" || len(key) > 10 || key[0] == '0' && len(key) > 1 || key[0] < '0' || key[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(key, 10, 32)
	return uint32(n), err == nil && n < math.MaxUint32
}

// compareKeys orders keys: array indices first, by number, then the others by
// their bytes.
func compareKeys(a, b string) int {
	x, isX := arrayIndex(a)
	y, isY := arrayIndex(b)
	switch {
	case isX && isY:
		return int(int64(x) - int64(y))
	case isX:
		return -1
	case isY:
		return 1
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// ownKeys lists the names of the members of an object or array, in the order of
// the language: of data by name, of created objects as they were written, array
// indices first.
func (m *machine) ownKeys(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		m.spend(len(v), 32*len(v))
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, compareKeys)
		return keys
	case *object:
		if !v.numeric {
			m.spend(len(v.keys), 0)
			return v.keys
		}
		m.spend(len(v.keys), 32*len(v.keys))
		keys := slices.Clone(v.keys)
		slices.SortStableFunc(keys, func(a, b string) int {
			_, isA := arrayIndex(a)
			_, isB := arrayIndex(b)
			if !isA && !isB {
				return 0
			}
			return compareKeys(a, b)
		})
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

// elements returns the elements of an array; they go through read before use.
func elements(v any) ([]any, bool) {
	switch v := v.(type) {
	case *array:
		return v.elems, true
	case []any:
		return v, true
	}
	return nil, false
}

func isObject(v any) bool {
	switch v.(type) {
	case map[string]any, []any, *array, *object:
		return true
	}
	return false
}

// read takes a value out of an object or array, which may be of the environment.
func (m *machine) read(v any) any {
	switch v.(type) {
	case nil, string, float64, bool, map[string]any, []any, *array, *object, undefinedType:
		return v
	}
	return m.readNumber(v)
}

func (m *machine) readNumber(v any) any {
	if n, ok := v.(json.Number); ok {
		if f, err := strconv.ParseFloat(n.String(), 64); err == nil || math.IsInf(f, 0) {
			return f
		}
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return float64(r.Int())
	case r.CanUint():
		return float64(r.Uint())
	case r.CanFloat():
		return r.Float()
	}
	panic(m.fault(CodeBadData, "the data must be a JSON tree, but holds a Go value of type %T", v))
}

// sameObject tells whether two objects or arrays are the same one.
func sameObject(a, b any) bool {
	switch x := a.(type) {
	case *array:
		y, ok := b.(*array)
		return ok && x == y
	case *object:
		y, ok := b.(*object)
		return ok && x == y
	case []any:
		y, ok := b.([]any)
		return ok && len(x) == len(y) && unsafe.SliceData(x) == unsafe.SliceData(y)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && reflect.ValueOf(x).UnsafePointer() == reflect.ValueOf(y).UnsafePointer()
	}
	return false
}

// describe names the type of a value for messages.
func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case undefinedType:
		return "undefined"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any, *array:
		return "an array"
	}
	return "an object"
}

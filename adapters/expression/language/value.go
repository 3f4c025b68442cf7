package language

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
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

const maxScannedKeys = 8

// grow makes room for n more members.
func (o *object) grow(n int) {
	o.keys, o.vals = slices.Grow(o.keys, n), slices.Grow(o.vals, n)
}

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
func (m *Machine) set(o *object, key string, value any) {
	if i, ok := o.find(key); ok {
		o.vals[i] = value
		return
	}
	m.alloc(48 + len(key))
	if len(o.keys) == cap(o.keys) {
		o.grow(max(1, len(o.keys)))
	}
	o.keys = append(o.keys, key)
	o.vals = append(o.vals, value)
	if _, isIndex := arrayIndex(key); isIndex {
		o.numeric = true
	}
	if o.index != nil {
		o.index[key] = len(o.keys) - 1
	} else if len(o.keys) > maxScannedKeys {
		o.index = make(map[string]int, 2*len(o.keys))
		for i, k := range o.keys {
			o.index[k] = i
		}
	}
}

// arrayIndex reads a key that is the canonical spelling of an array index.
func arrayIndex(key string) (uint32, bool) {
	if key == "" || len(key) > 10 || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	n := uint64(0)
	for i := range len(key) {
		if key[i] < '0' || key[i] > '9' {
			return 0, false
		}
		n = 10*n + uint64(key[i]-'0')
	}
	return uint32(n), n < math.MaxUint32
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
func (m *Machine) read(v any) any {
	switch v.(type) {
	case nil, string, float64, bool, map[string]any, []any, *array, *object, undefinedType:
		return v
	}
	return m.readNumber(v)
}

func (m *Machine) readNumber(v any) any {
	if n, ok := v.(json.Number); ok {
		if f, err := m.readDecimal(n.String()); err == nil || math.IsInf(f, 0) {
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

// sameObject reports whether two objects or arrays are the same one.
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

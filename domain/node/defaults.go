package node

import "maps"

// ApplyDefaults returns a copy of the object in which every absent field has its default,
// also within the objects and arrays that are there and within the defaults themselves. An absent object without a default stays absent, even
// when its properties have some. Members that the schema does not declare are
// kept. nil is the empty object; the result is never nil.
//
// The copy shares with the original only what the schema says nothing about. Its
// defaults are fresh copies with their numbers as float64.
func (s Schema) ApplyDefaults(object map[string]any) map[string]any {
	out := make(map[string]any, len(object)+s.Len())
	maps.Copy(out, object)
	for name, f := range s.All() {
		value, present := out[name]
		if !present {
			if value, present = f.Default(); !present {
				continue
			}
		}
		out[name] = f.applyDefaults(value)
	}
	return out
}

func (f FieldSchema) applyDefaults(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if f.Type() == Object {
			return f.Properties().ApplyDefaults(v)
		}
	case []any:
		if f.Type() == Array {
			out := make([]any, len(v))
			for i, item := range v {
				out[i] = f.Items().applyDefaults(item)
			}
			return out
		}
	}
	return value
}

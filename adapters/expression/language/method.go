package language

import (
	"maps"
	"math"
	"slices"
)

// method is what a name means when it is called on a value, by the value's type.
// A method with each takes a function as its first argument.
type method struct {
	text     func(m *Machine, s string, args []any) any
	list     func(m *Machine, a []any, args []any) any
	number   func(m *Machine, f float64, args []any) any
	other    func(m *Machine, v any, args []any) any
	each     func(m *Machine, v any, a []any, f *function, args []any) any
	optional bool // the function may be left out
}

// apply calls the method; can is false when values of this type do not have it.
func (d *method) apply(m *Machine, v any, f *function, args []any) (result any, can bool) {
	if elems, isArray := elements(v); isArray {
		switch {
		case d.each != nil:
			return d.each(m, v, elems, f, args), true
		case d.list != nil:
			return d.list(m, elems, args), true
		}
	}
	switch v := v.(type) {
	case string:
		if d.text != nil {
			return d.text(m, v, args), true
		}
	case float64:
		if d.number != nil {
			return d.number(m, v, args), true
		}
	}
	if d.other != nil {
		return d.other(m, v, args), true
	}
	return nil, false
}

// methods are all there are.
var methods = map[string]*method{
	"at":             {text: textAt, list: listAt},
	"charAt":         {text: textCharAt},
	"charCodeAt":     {text: textCharCodeAt},
	"codePointAt":    {text: textCodePointAt},
	"concat":         {text: textConcat, list: listConcat},
	"endsWith":       {text: textEndsWith},
	"includes":       {text: textIncludes, list: listIncludes},
	"indexOf":        {text: textIndexOf, list: listIndexOf},
	"join":           {list: listJoin},
	"lastIndexOf":    {text: textLastIndexOf, list: listLastIndexOf},
	"padEnd":         {text: func(m *Machine, s string, args []any) any { return m.pad(s, args, false) }},
	"padStart":       {text: func(m *Machine, s string, args []any) any { return m.pad(s, args, true) }},
	"repeat":         {text: textRepeat},
	"replace":        {text: func(m *Machine, s string, args []any) any { return m.replace(s, args, 1) }},
	"replaceAll":     {text: func(m *Machine, s string, args []any) any { return m.replace(s, args, math.MaxInt) }},
	"reverse":        {list: listReverse},
	"slice":          {text: textSlice, list: listSlice},
	"split":          {text: textSplit},
	"startsWith":     {text: textStartsWith},
	"substring":      {text: textSubstring},
	"toFixed":        {number: numberToFixed},
	"toLowerCase":    {text: textToLower},
	"toReversed":     {list: listReverse},
	"toString":       {number: numberToString, other: func(m *Machine, v any, _ []any) any { return m.text(v) }},
	"toUpperCase":    {text: textToUpper},
	"trim":           {text: textTrim},
	"trimEnd":        {text: textTrimEnd},
	"trimStart":      {text: textTrimStart},
	"flat":           {list: listFlat},
	"every":          {each: listEvery},
	"filter":         {each: listFilter},
	"find":           {each: listFind},
	"findIndex":      {each: listFindIndex},
	"findLast":       {each: listFindLast},
	"findLastIndex":  {each: listFindLastIndex},
	"flatMap":        {each: listFlatMap},
	"map":            {each: listMap},
	"reduce":         {each: listReduce},
	"reduceRight":    {each: listReduceRight},
	"some":           {each: listSome},
	"sort":           {each: listSort, optional: true},
	"toSorted":       {each: listSort, optional: true},
	"hasOwnProperty": {other: func(m *Machine, v any, args []any) any { return m.hasOwn(v, argumentAt(args, 0)) }},
}

// refusedMethods are methods that users of JavaScript may look for, with what is
// right instead.
var refusedMethods = map[string]string{
	"push": useSpread, "unshift": useSpread, "fill": useSpread, "copyWithin": useSpread,
	"pop": useSlice, "shift": useSlice, "splice": useSlice,
	"forEach": "use map, filter or reduce",
	"match":   noPatterns, "matchAll": noPatterns, "search": noPatterns, "test": noPatterns, "exec": noPatterns,
	"localeCompare": noLocales, "toLocaleString": noLocales, "toLocaleLowerCase": noLocales, "toLocaleUpperCase": noLocales,
	"substr": "use slice", "trimLeft": "use trimStart", "trimRight": "use trimEnd",
	"keys": useObject, "values": useObject, "entries": useObject,
	"call": oneFunction, "apply": oneFunction, "bind": oneFunction,
}

const (
	useSpread   = "arrays do not change; write [...list, item]"
	useSlice    = "arrays do not change; use slice or at"
	useObject   = "use Object.keys, Object.values or Object.entries"
	noPatterns  = "there are no regular expressions; use includes, startsWith, indexOf or split"
	noLocales   = "results must not depend on a locale; compare with < and >"
	oneFunction = "functions are called by their name"
)

// sortedNames lists the keys of a table for messages.
func sortedNames[V any](table map[string]V) []string {
	return slices.Sorted(maps.Keys(table))
}

func numberToFixed(m *Machine, f float64, args []any) any {
	places := m.integer(argumentAt(args, 0))
	if places < 0 || places > 100 {
		panic(m.fault(CodeBadArgument, "toFixed takes 0 to 100 places, not %s", formatNumber(places)))
	}
	if !(math.Abs(f) < 1e21) {
		return m.text(f)
	}
	m.spend(20, 128)
	return toFixed(f, int(places))
}

func numberToString(m *Machine, f float64, args []any) any {
	base := 10.0
	if given := argumentAt(args, 0); given != undefined {
		base = m.integer(given)
	}
	if base < 2 || base > 36 {
		panic(m.fault(CodeBadArgument, "toString takes a radix of 2 to 36, not %s", formatNumber(base)))
	}
	if base == 10 || f != f || math.IsInf(f, 0) {
		return m.text(f)
	}
	if f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		panic(m.fault(CodeBadArgument, "toString with a radix other than 10 takes whole numbers below 2^53, not %s", formatNumber(f)))
	}
	m.alloc(64)
	return formatInteger(int64(f), int(base))
}

// bound clamps a relative index, as slice and at use it, into 0..n.
func (m *Machine) bound(v any, n int, standard float64) int {
	if v == undefined {
		return int(standard)
	}
	i := m.integer(v)
	if i < 0 {
		i += float64(n)
	}
	return int(max(0, min(i, float64(n))))
}

// clamp is an index into 0..n where negative ones are 0.
func (m *Machine) clamp(v any, n int, standard float64) int {
	if v == undefined {
		return int(standard)
	}
	return int(max(0, min(m.integer(v), float64(n))))
}

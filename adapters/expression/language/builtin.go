package language

import (
	"math"
	"strings"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// builtin is a function of the language. It must not keep args.
type builtin func(m *Machine, args []any) any

// namespace is a name with members, such as Math.
type namespace struct {
	functions map[string]builtin
	constants map[string]any
}

// list names the members for messages.
func (n namespace) list() string {
	return strings.Join(append(sortedNames(n.functions), sortedNames(n.constants)...), ", ")
}

// exampleOf is a member of a namespace, for messages.
func exampleOf(name string) string {
	return name + "." + sortedNames(namespaces[name].functions)[0] + "()"
}

// componentMarks are what encodeURIComponent leaves as it is, besides letters and digits.
const componentMarks = "-_.!~*'()"

// constants are the built-in names with a value.
var constants = map[string]any{
	"undefined": undefined,
	"NaN":       math.NaN(),
	"Infinity":  math.Inf(1),
}

// functions are the built-in names that are called.
var functions = map[string]builtin{
	"now":                now,
	"link":               link,
	"Number":             toNumber,
	"String":             toText,
	"Boolean":            func(_ *Machine, args []any) any { return truthy(argumentAt(args, 0)) },
	"parseInt":           parseInteger,
	"parseFloat":         parseFloat,
	"isNaN":              func(m *Machine, args []any) any { return math.IsNaN(m.number(argumentAt(args, 0))) },
	"isFinite":           func(m *Machine, args []any) any { return finite(m.number(argumentAt(args, 0))) },
	"encodeURIComponent": func(m *Machine, args []any) any { return m.encodeURI(argumentAt(args, 0), componentMarks) },
	"encodeURI":          func(m *Machine, args []any) any { return m.encodeURI(argumentAt(args, 0), "-_.!~*'();/?:@&=+$,#") },
}

// namespaces are the built-in names with members.
var namespaces = map[string]namespace{
	"Array": {functions: map[string]builtin{
		"isArray": func(_ *Machine, args []any) any { _, ok := elements(argumentAt(args, 0)); return ok },
	}},
	"JSON": {functions: map[string]builtin{"parse": jsonParse, "stringify": jsonStringify}},
	"Math": {functions: mathFunctions, constants: map[string]any{
		"E": math.E, "PI": math.Pi, "LN2": math.Ln2, "LN10": math.Ln10, "LOG2E": math.Log2E, "LOG10E": math.Log10E,
		"SQRT2": math.Sqrt2, "SQRT1_2": math.Sqrt2 / 2,
	}},
	"Number": {functions: map[string]builtin{
		"isFinite":      func(_ *Machine, args []any) any { f, ok := argumentAt(args, 0).(float64); return ok && finite(f) },
		"isInteger":     func(_ *Machine, args []any) any { f, ok := argumentAt(args, 0).(float64); return ok && whole(f) },
		"isNaN":         func(_ *Machine, args []any) any { f, ok := argumentAt(args, 0).(float64); return ok && f != f },
		"isSafeInteger": isSafeInteger,
		"parseFloat":    parseFloat,
		"parseInt":      parseInteger,
	}, constants: map[string]any{
		"EPSILON": 0x1p-52, "MAX_SAFE_INTEGER": float64(1<<53 - 1), "MIN_SAFE_INTEGER": float64(1 - 1<<53),
		"MAX_VALUE": math.MaxFloat64, "MIN_VALUE": math.SmallestNonzeroFloat64,
		"NaN": math.NaN(), "POSITIVE_INFINITY": math.Inf(1), "NEGATIVE_INFINITY": math.Inf(-1),
	}},
	"Object": {functions: objectFunctions},
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
func whole(f float64) bool  { return finite(f) && f == math.Trunc(f) }

func now(m *Machine, _ []any) any {
	if m.env.Now.IsZero() {
		panic(m.fault(CodeNoTime, "now() has no time here; it is known while a run is under way"))
	}
	return float64(m.env.Now.UnixMilli())
}

// link gives the address of the page for the answer to a question.
func link(m *Machine, args []any) any {
	if m.env.Links == nil || m.env.Run == "" {
		panic(m.fault(CodeNoLink, "link() has no address here; it is known while a run is under way"))
	}
	node, isText := m.read(argumentAt(args, 0)).(string)
	if !isText {
		panic(m.fault(CodeBadArgument, "link takes the id of a node, as link(\"approve\")"))
	}
	m.work(len(node))
	m.alloc(1024 + 4*len(node))
	return m.env.Links.Of(run.Link{Tenant: m.env.Tenant, Run: m.env.Run, Node: workflow.NodeID(node), Simulated: m.env.Simulated})
}

func isSafeInteger(_ *Machine, args []any) any {
	f, ok := argumentAt(args, 0).(float64)
	return ok && whole(f) && math.Abs(f) < 1<<53
}

func toNumber(m *Machine, args []any) any {
	if len(args) == 0 {
		return 0.0
	}
	return m.number(args[0])
}

func toText(m *Machine, args []any) any {
	if len(args) == 0 {
		return ""
	}
	return m.text(args[0])
}

// parseInteger is parseInt of ECMA-262.
func parseInteger(m *Machine, args []any) any {
	s := m.text(argumentAt(args, 0))
	m.work(8 * len(s))
	s = m.trim(s, strings.TrimLeftFunc)
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	base := toInt32(m.number(argumentAt(args, 1)))
	if base != 0 && (base < 2 || base > 36) {
		return math.NaN()
	}
	if (base == 0 || base == 16) && len(s) >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		s, base = s[2:], 16
	}
	if base == 0 {
		base = 10
	}
	f, n := m.digits(s, int(base))
	switch {
	case n == 0:
		return math.NaN()
	case negative:
		return -f
	}
	return f
}

func parseFloat(m *Machine, args []any) any {
	s := m.text(argumentAt(args, 0))
	s = m.trim(s, strings.TrimLeftFunc)
	n := decimalPrefix(s)
	if n == 0 {
		return math.NaN()
	}
	return m.parseDecimal(s[:n])
}

// encodeURI is Encode of ECMA-262: all but letters, digits and the characters of
// keep become the escapes of their UTF-8 bytes.
func (m *Machine) encodeURI(v any, keep string) string {
	s := m.text(v)
	m.work(8 * len(s))
	m.alloc(3 * len(s))
	if !wellFormed(s) {
		panic(m.fault(CodeBadArgument, "half of a surrogate pair cannot be encoded; give whole characters"))
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(3 * len(s))
	for _, c := range []byte(strings.ToValidUTF8(s, "\ufffd")) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(keep, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// objectFunctions are the members of Object. None changes its argument.
var objectFunctions = map[string]builtin{
	"keys": func(m *Machine, args []any) any {
		return m.membersOf("Object.keys", args, func(key string, _ func() any) any { return key })
	},
	"values": func(m *Machine, args []any) any {
		return m.membersOf("Object.values", args, func(_ string, value func() any) any { return value() })
	},
	"entries": func(m *Machine, args []any) any {
		return m.membersOf("Object.entries", args, func(key string, value func() any) any {
			return m.list([]any{key, value()})
		})
	},
	"fromEntries": objectFromEntries,
	"assign":      objectAssign,
	"hasOwn": func(m *Machine, args []any) any {
		m.needsMembers("Object.hasOwn", argumentAt(args, 0))
		return m.hasOwn(argumentAt(args, 0), argumentAt(args, 1))
	},
}

func (m *Machine) needsMembers(name string, v any) {
	if v == nil || v == undefined {
		panic(m.fault(CodeBadArgument, "%s takes an object, not %s", name, describe(v)))
	}
}

// membersOf lists what of gives for each member of the first argument.
func (m *Machine) membersOf(name string, args []any, of func(key string, value func() any) any) any {
	v := argumentAt(args, 0)
	m.needsMembers(name, v)
	var keys []string
	switch v.(type) {
	case bool, float64:
	default:
		keys = m.ownKeys(v)
	}
	m.alloc(40 + 32*len(keys))
	members := make([]any, len(keys))
	var chars []any
	if s, isText := v.(string); isText {
		chars = m.characters(s)
	}
	at := 0
	value := func() any {
		if chars != nil {
			return chars[at]
		}
		m.work(len(keys[at]))
		return m.member(v, keys[at])
	}
	for i, key := range keys {
		at = i
		members[i] = of(key, value)
	}
	return &array{elems: members}
}

func objectFromEntries(m *Machine, args []any) any {
	entries := m.iterate(argumentAt(args, 0))
	m.alloc(64)
	created := &object{}
	for _, e := range entries {
		m.step()
		e = m.read(e)
		if !isObject(e) {
			panic(m.fault(CodeBadArgument, "Object.fromEntries takes an array of [key, value], but one element is %s", describe(e)))
		}
		key := m.key(m.member(e, "0"))
		m.set(created, key, m.member(e, "1"))
	}
	return created
}

// objectAssign is Object.assign on a copy of the first argument.
func objectAssign(m *Machine, args []any) any {
	target := argumentAt(args, 0)
	switch target.(type) {
	case map[string]any, *object:
	default:
		panic(m.fault(CodeBadArgument, "Object.assign takes an object first, not %s", describe(target)))
	}
	m.alloc(64)
	created := &object{}
	for _, arg := range args {
		m.step()
		m.assign(created, arg, nil)
	}
	return created
}

func (m *Machine) hasOwn(v, key any) bool {
	if isObject(v) {
		return m.has(key, v)
	}
	name := m.key(key)
	s, isText := v.(string)
	if !isText {
		return false
	}
	i, ok := arrayIndex(name)
	return name == "length" || ok && int(i) < m.unitLen(s)
}

package language

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

func formatInteger(i int64, base int) string { return strconv.FormatInt(i, base) }

func textAt(m *Machine, s string, args []any) any {
	i := m.integer(argumentAt(args, 0))
	if i < 0 {
		i += float64(m.unitLen(s))
	}
	return m.charAt(s, i, undefined)
}

func textCharAt(m *Machine, s string, args []any) any {
	return m.charAt(s, m.integer(argumentAt(args, 0)), "")
}

func textCharCodeAt(m *Machine, s string, args []any) any {
	i := m.integer(argumentAt(args, 0))
	if units := m.units(s); i >= 0 && i < float64(len(units)) {
		return float64(units[int(i)])
	}
	return math.NaN()
}

func textCodePointAt(m *Machine, s string, args []any) any {
	i := m.integer(argumentAt(args, 0))
	units := m.units(s)
	if i < 0 || i >= float64(len(units)) {
		return undefined
	}
	r, _ := decode(m.fromUnits(units[int(i):min(int(i)+2, len(units))]))
	return float64(r)
}

func textConcat(m *Machine, s string, args []any) any {
	for _, a := range args {
		s = m.concat(s, m.text(a))
	}
	return s
}

// pattern reads the text that a method looks for.
func (m *Machine) pattern(args []any) string {
	p := m.text(argumentAt(args, 0))
	m.work(len(p))
	if !wellFormed(p) {
		panic(m.fault(CodeBadArgument, "half of a surrogate pair cannot be looked for; look for whole characters"))
	}
	return p
}

// cut divides s at a code unit.
func (m *Machine) cut(s string, at int) (before, after string) {
	if m.work(len(s)); isASCII(s) {
		return s[:at], s[at:]
	}
	units := m.units(s)
	return m.fromUnits(units[:at]), m.fromUnits(units[at:])
}

func textIncludes(m *Machine, s string, args []any) any {
	return m.find(s, args) >= 0
}

func textIndexOf(m *Machine, s string, args []any) any {
	return float64(m.find(s, args))
}

// find returns the index of the first argument at or after the second, or -1.
func (m *Machine) find(s string, args []any) int {
	p := m.pattern(args)
	m.work(len(s))
	start := 0
	if given := argumentAt(args, 1); given != undefined {
		start = m.clamp(given, m.unitLen(s), 0)
		_, s = m.cut(s, start)
	}
	i := m.search(s, p)
	if i < 0 {
		return -1
	}
	return start + unitLen(s[:i])
}

func textLastIndexOf(m *Machine, s string, args []any) any {
	p := m.pattern(args)
	n, size := m.unitLen(s), m.unitLen(p)
	if given := m.number(argumentAt(args, 1)); given == given {
		if last := m.clamp(given, n, 0) + size; last < n {
			s, _ = m.cut(s, last)
		}
	}
	m.work(len(s))
	i := m.searchLast(s, p)
	if i < 0 {
		return -1.0
	}
	return float64(unitLen(s[:i]))
}

func textStartsWith(m *Machine, s string, args []any) any {
	p := m.pattern(args)
	if given := argumentAt(args, 1); given != undefined {
		_, s = m.cut(s, m.clamp(given, m.unitLen(s), 0))
	}
	return strings.HasPrefix(s, p)
}

func textEndsWith(m *Machine, s string, args []any) any {
	p := m.pattern(args)
	if given := argumentAt(args, 1); given != undefined {
		s, _ = m.cut(s, m.clamp(given, m.unitLen(s), 0))
	}
	return strings.HasSuffix(s, p)
}

func textSlice(m *Machine, s string, args []any) any {
	n := m.unitLen(s)
	return m.substring(s, m.bound(argumentAt(args, 0), n, 0), m.bound(argumentAt(args, 1), n, float64(n)))
}

func textSubstring(m *Machine, s string, args []any) any {
	n := m.unitLen(s)
	from, to := m.clamp(argumentAt(args, 0), n, 0), m.clamp(argumentAt(args, 1), n, float64(n))
	return m.substring(s, min(from, to), max(from, to))
}

func textToUpper(m *Machine, s string, _ []any) any { return m.mapCase(s, toUpper) }
func textToLower(m *Machine, s string, _ []any) any { return m.mapCase(s, toLower) }

func (m *Machine) mapCase(s string, to func(string) string) string {
	m.work(16 * len(s))
	m.alloc(3 * len(s))
	return to(s)
}

func textTrim(m *Machine, s string, _ []any) any {
	return m.trim(s, strings.TrimFunc)
}

func textTrimStart(m *Machine, s string, _ []any) any {
	return m.trim(s, strings.TrimLeftFunc)
}

func textTrimEnd(m *Machine, s string, _ []any) any {
	return m.trim(s, strings.TrimRightFunc)
}

// trim counts what is trimmed more, for it is decoded.
func (m *Machine) trim(s string, trim func(string, func(rune) bool) string) string {
	m.work(len(s))
	trimmed := trim(s, isSpace)
	m.work(8 * (len(s) - len(trimmed)))
	return trimmed
}

func textRepeat(m *Machine, s string, args []any) any {
	n := m.integer(argumentAt(args, 0))
	if n < 0 || math.IsInf(n, 0) {
		panic(m.fault(CodeBadArgument, "repeat takes a number of 0 or more, not %s", formatNumber(n)))
	}
	if s == "" || n == 0 {
		return ""
	}
	if n*float64(len(s)) > float64(m.memory) {
		m.exhausted(CodeMemory)
	}
	if endsWithHigh(s) && startsWithLow(s) {
		t := TextBuilder{m: m}
		for range int(n) {
			m.step()
			t.Add(s)
		}
		return t.String()
	}
	m.alloc(len(s) * int(n))
	m.work(len(s) * int(n))
	return strings.Repeat(s, int(n))
}

// pad is padStart and padEnd.
func (m *Machine) pad(s string, args []any, start bool) string {
	wanted, filler := m.integer(argumentAt(args, 0)), " "
	if given := argumentAt(args, 1); given != undefined {
		filler = m.text(given)
	}
	missing := wanted - float64(m.unitLen(s))
	if missing <= 0 || filler == "" {
		return s
	}
	if missing > float64(m.memory) {
		m.exhausted(CodeMemory)
	}
	size := m.unitLen(filler)
	whole, part := int(missing)/size, int(missing)%size
	t := TextBuilder{m: m}
	if !start {
		t.Add(s)
	}
	for range whole {
		m.step()
		t.Add(filler)
	}
	t.Add(m.substring(filler, 0, part))
	if start {
		t.Add(s)
	}
	return t.String()
}

func textSplit(m *Machine, s string, args []any) any {
	limit := float64(math.MaxUint32)
	if given := argumentAt(args, 1); given != undefined {
		limit = float64(toUint32(m.number(given)))
	}
	separator := argumentAt(args, 0)
	if separator == undefined {
		if limit == 0 {
			return m.list(nil)
		}
		return m.list([]any{s})
	}
	p := m.pattern(args)
	if p == "" {
		chars := m.characters(s)
		return m.list(chars[:int(min(limit, float64(len(chars))))])
	}
	m.work(len(s))
	var parts []any
	for float64(len(parts)) < limit {
		m.spend(1, 32)
		i := m.search(s, p)
		if i < 0 {
			parts = append(parts, s)
			break
		}
		parts = append(parts, s[:i])
		s = s[i+len(p):]
	}
	return m.list(slices.Clip(parts))
}

// replace replaces the first argument by the second, at most n times.
func (m *Machine) replace(s string, args []any, n int) string {
	p, with := m.pattern(args), m.text(argumentAt(args, 1))
	if p == "" {
		return m.replaceEmpty(s, with, n)
	}
	m.work(len(s))
	t := TextBuilder{m: m}
	done := 0
	for ; n > 0; n-- {
		i := m.search(s[done:], p)
		if i < 0 {
			break
		}
		m.step()
		t.Add(s[done : done+i])
		t.expand(with, s[:done+i], p, s[done+i+len(p):])
		done += i + len(p)
	}
	t.Add(s[done:])
	return t.String()
}

// replaceEmpty inserts before the first code unit; for replaceAll before each and
// at the end.
func (m *Machine) replaceEmpty(s, with string, n int) string {
	t := TextBuilder{m: m}
	if n == 1 {
		t.expand(with, "", "", s)
		t.Add(s)
		return t.String()
	}
	units := m.units(s)
	seesAround := strings.Contains(with, "$`") || strings.Contains(with, "$'")
	for i := range units {
		m.step()
		var before, after string
		if seesAround {
			before, after = m.fromUnits(units[:i]), m.fromUnits(units[i:])
		}
		t.expand(with, before, "", after)
		t.Add(m.fromUnits(units[i : i+1]))
	}
	t.expand(with, s, "", "")
	return t.String()
}

// expand is GetSubstitution of ECMA-262 for a text that was looked for: $$ $& $` $'.
func (t *TextBuilder) expand(with, before, match, after string) {
	for {
		i := strings.IndexByte(with, '$')
		if i < 0 || i+1 >= len(with) {
			t.Add(with)
			return
		}
		t.Add(with[:i])
		t.m.step()
		switch with[i+1] {
		case '$':
			t.Add("$")
		case '&':
			t.Add(match)
		case '`':
			t.Add(before)
		case '\'':
			t.Add(after)
		default:
			t.Add("$")
			with = with[i+1:]
			continue
		}
		with = with[i+2:]
	}
}

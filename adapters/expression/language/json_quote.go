package language

import "fmt"

// quote is QuoteJSONString of ECMA-262.
func (w *jsonWriter) quote(s string) {
	size := 2
	for rest := s; ; {
		n := plainPrefix(rest)
		size += n
		if rest = rest[n:]; rest == "" {
			break
		}
		n, escaped := escapeOf(rest)
		size += escaped
		rest = rest[n:]
	}
	w.t.reserve(size)
	w.t.b = append(w.t.b, '"')
	b := w.t.b
	for rest := s; ; {
		n := plainPrefix(rest)
		b = append(b, rest[:n]...)
		if rest = rest[n:]; rest == "" {
			break
		}
		n, escaped := escapeOf(rest)
		if b = append(b, jsonEscapes[rest[0]]...); escaped > len(jsonEscapes[rest[0]]) {
			const hex = "0123456789abcdef" // of half a pair, which begins with d
			b = append(b, hex[rest[1]>>2&15], hex[rest[1]&3<<2|rest[2]>>4&3], hex[rest[2]&15])
		}
		rest = rest[n:]
	}
	b = append(b, '"')
	w.t.b = b
}

// jsonEscapes are the escapes of single bytes, and what those of lone surrogates, which
// begin with 0xed, have in common.
var jsonEscapes = func() (table [256]string) {
	for c := range ' ' {
		table[c] = fmt.Sprintf(`\u%04x`, c)
	}
	for i, c := range "\b\t\n\f\r\"\\" {
		table[c] = `\` + `btnfr"\`[i:i+1]
	}
	table[0xed] = `\ud`
	return table
}()

// plainPrefix returns how many bytes at the start of s need no escape.
func plainPrefix(s string) int {
	for i := range len(s) {
		if jsonEscapes[s[i]] != "" && (s[i] != 0xed || isHalf(s[i:])) {
			return i
		}
	}
	return len(s)
}

// escapeOf returns how many bytes of s its first character takes, which needs an escape,
// and how many the escape takes.
func escapeOf(s string) (size, escaped int) {
	if s[0] == 0xed {
		return 3, 6
	}
	return 1, len(jsonEscapes[s[0]])
}

package language

import (
	"math"
	"strconv"
	"strings"
)

// formatNumber is Number::toString of ECMA-262 for radix 10.
func formatNumber(f float64) string {
	switch {
	case f != f:
		return "NaN"
	case f == 0:
		return "0"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return strconv.FormatInt(int64(f), 10)
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	digits := strings.TrimLeft(exponent[1:], "0")
	return mantissa + "e" + exponent[:1] + digits
}

// isSpace reports whether ECMA-262 trims the character: white space, ends of lines and
// Unicode's separators of words (Zs).
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0xfeff, 0x2028, 0x2029:
		return true
	}
	return r == 0x1680 || r >= 0x2000 && r <= 0x200a || r == 0x202f || r == 0x205f || r == 0x3000
}

// parseNumber is StringToNumber of ECMA-262: the whole string must be a number.
func (m *Machine) parseNumber(s string) float64 {
	s = m.trim(s, strings.TrimFunc)
	if s == "" {
		return 0
	}
	if len(s) > 2 && s[0] == '0' {
		if base := radixOf(s[1]); base != 0 {
			f, n := m.digits(s[2:], base)
			if n != len(s)-2 {
				return math.NaN()
			}
			return f
		}
	}
	n := decimalPrefix(s)
	if n != len(s) {
		return math.NaN()
	}
	return m.parseDecimal(s)
}

func radixOf(letter byte) int {
	switch letter {
	case 'x', 'X':
		return 16
	case 'o', 'O':
		return 8
	case 'b', 'B':
		return 2
	}
	return 0
}

// decimalPrefix returns how much of s is a StrDecimalLiteral of ECMA-262.
func decimalPrefix(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	if strings.HasPrefix(s[i:], "Infinity") {
		return i + len("Infinity")
	}
	whole := countDigits(s[i:])
	i += whole
	if i < len(s) && s[i] == '.' {
		fraction := countDigits(s[i+1:])
		if whole+fraction == 0 {
			return 0
		}
		i += 1 + fraction
	} else if whole == 0 {
		return 0
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if n := countDigits(s[j:]); n > 0 {
			i = j + n
		}
	}
	return i
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// digits reads the digits of the base at the start of s; n is how many.
func (m *Machine) digits(s string, base int) (f float64, n int) {
	for n < len(s) && digit(s[n]) < base {
		n++
	}
	m.work(4 * n)
	if base == 10 && n > 15 {
		return m.parseDecimal(s[:n]), n
	}
	for i := range n {
		f = float64(f*float64(base)) + float64(digit(s[i])) // rounded twice on every machine
	}
	return f, n
}

// digit is the value of a digit of any base, 36 for what is none.
func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'Z':
		return int(c-'A') + 10
	}
	return 36
}

// toInt32 is ToInt32 of ECMA-262.
func toInt32(f float64) int32 { return int32(toUint32(f)) }

func toUint32(f float64) uint32 {
	if math.Abs(f) < 1<<53 {
		return uint32(int64(f))
	}
	if f != f || math.IsInf(f, 0) {
		return 0
	}
	n, exponent := mantissa(math.Abs(f))
	whole := uint32(n << exponent)
	if f < 0 {
		return -whole
	}
	return whole
}

// power is Number::exponentiate of ECMA-262, which differs from Go's for 1.
func power(x, y float64) float64 {
	if y != y || (x == 1 || x == -1) && math.IsInf(y, 0) {
		return math.NaN()
	}
	return math.Pow(x, y)
}

// toFixed is Number.prototype.toFixed of ECMA-262 for |f| < 1e21: halves go up.
func toFixed(f float64, places int) string {
	if f != 0 && math.Abs(f) < 1e-102 { // 0 at any number of places, and slow to find out
		f = math.Copysign(1e-102, f)
	}
	s := strconv.FormatFloat(f, 'f', places, 64)
	if probe := strconv.FormatFloat(f, 'f', places+1, 64); strings.HasSuffix(probe, "5") {
		_, exponent := mantissa(math.Abs(f))
		exact := strconv.FormatFloat(f, 'f', max(places+2, -exponent), 64) // all its digits
		cut := strings.IndexByte(exact, '.') + 1 + places
		if exact[cut] == '5' && strings.Trim(exact[cut+1:], "0") == "" {
			s = strconv.FormatFloat(math.Nextafter(f, math.Inf(sign(f))), 'f', places, 64)
		}
	}
	if strings.Trim(s, "-0.") == "" {
		if f < 0 {
			return s
		}
		return strings.TrimPrefix(s, "-")
	}
	return s
}

func sign(f float64) int {
	if f < 0 {
		return -1
	}
	return 1
}

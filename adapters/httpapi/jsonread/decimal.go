package jsonread

import (
	"strconv"
	"strings"
)

// decimal is a number in normal form: ±digits × 10^exponent, digits without zeros
// at either end. Two texts have the same normal form exactly when they are the same
// number; zero has no digits, no sign and no exponent.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// hugeExponent bounds a written exponent. Beyond it, a number is out of any range
// and its neighbours are told apart by nobody.
const hugeExponent = 1 << 30

// parseDecimal reads a number whose syntax was checked.
func parseDecimal(text string) decimal {
	var d decimal
	d.negative = text[0] == '-'
	text = strings.TrimPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
		if err != nil || exponent > hugeExponent || exponent < -hugeExponent {
			exponent = hugeExponent
			if text[i+1] == '-' {
				exponent = -hugeExponent
			}
		}
		text, d.exponent = text[:i], exponent
	}
	integer, fraction, _ := strings.Cut(text, ".")
	d.exponent -= len(fraction)
	if d.digits = integer; fraction != "" {
		d.digits = integer + fraction
	}
	d.digits = strings.TrimLeft(d.digits, "0")
	size := len(d.digits)
	d.digits = strings.TrimRight(d.digits, "0")
	d.exponent += size - len(d.digits)
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func (d decimal) whole() bool { return d.exponent >= 0 }

// int returns the value of a whole number of at most maxInt in size.
func (d decimal) int() (n int, ok bool) {
	const longest = 16 // digits of maxInt
	if len(d.digits)+d.exponent > longest {
		return 0, false
	}
	n, _ = strconv.Atoi("0" + d.digits + strings.Repeat("0", d.exponent))
	if d.negative {
		n = -n
	}
	return n, -maxInt <= n && n <= maxInt
}

func (d decimal) appendTo(b []byte) []byte {
	if d.digits == "" {
		return append(b, '0')
	}
	if d.negative {
		b = append(b, '-')
	}
	b = append(b, d.digits...)
	if d.exponent != 0 {
		b = append(b, 'e')
		b = strconv.AppendInt(b, int64(d.exponent), 10)
	}
	return b
}

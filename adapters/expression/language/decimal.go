package language

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Reading a decimal number takes the fewer steps the more ordinary it is. The reader of
// the standard library is fast for up to 19 digits and takes up to a thousand times as
// long for some longer numbers and for those near the ends of the range.
const (
	shortNumber   = 16     // bytes of a number that is read at no cost
	wholeNumber   = 18     // digits of whole numbers that an int64 holds
	underflowCost = 1 << 8 // steps for a number that is too small to be exact, or too large
	farExponent   = 1 << 8 // binary exponents from here cost more
	leastNormal   = 0x1p-1022
)

// parseDecimal reads what decimalPrefix has checked; what is out of range gives an
// infinity or 0, as in JavaScript.
func (m *Machine) parseDecimal(s string) float64 {
	f, _ := m.readDecimal(s)
	return f
}

// readDecimal reads a number and counts what that costs.
func (m *Machine) readDecimal(s string) (float64, error) {
	if i, ok := wholeDecimal(s); ok {
		return float64(i), nil
	}
	if len(s) > shortNumber {
		m.spend(1+(len(s)-shortNumber)>>2, 0)
	}
	f, err := strconv.ParseFloat(s, 64)
	switch exponent := math.Ilogb(f); {
	case f == 0 && isNotZero(s), f != 0 && math.Abs(f) < leastNormal, math.IsInf(f, 0) && err != nil:
		m.spend(underflowCost, 0)
	case f != 0 && len(s) > shortNumber && max(exponent, -exponent) > farExponent && !math.IsInf(f, 0):
		m.spend(max(exponent, -exponent)>>3, 0)
	}
	return f, err
}

// wholeDecimal reads a whole number, other than the negative zero, that an int64 holds.
func wholeDecimal(s string) (n int64, ok bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > wholeNumber {
		return 0, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
		n = 10*n + int64(digits[i]-'0')
	}
	if len(digits) < len(s) {
		n = -n
	}
	return n, n != 0 || len(digits) == len(s)
}

// isNotZero reports whether a number that was read as 0 is another one, too small to tell.
func isNotZero(s string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	return strings.ContainsAny(mantissa, "123456789")
}

// remainder is the % of ECMA-262, which is exact, in steps for the distance of the
// exponents.
func (m *Machine) remainder(x, y float64) float64 {
	size, by := math.Abs(x), math.Abs(y)
	switch {
	case !(by > 0) || math.IsInf(size, 0) || size != size:
		return math.NaN()
	case size < by:
		return x
	case size <= 1<<53 && by <= 1<<53 && size == math.Trunc(size) && by == math.Trunc(by):
		return math.Copysign(float64(uint64(size)%uint64(by)), x)
	}
	r, from := mantissa(size)
	divisor, to := mantissa(by)
	m.work(from - to)
	for r %= divisor; from > to && r > 0; {
		n := min(from-to, 63)
		r = bits.Rem64(r>>(64-n), r<<n, divisor)
		from -= n
	}
	return math.Copysign(math.Ldexp(float64(r), to), x)
}

// mantissa gives a positive number as n times 2 to the exponent.
func mantissa(f float64) (n uint64, exponent int) {
	b := math.Float64bits(f)
	n, exponent = b&(1<<52-1), int(b>>52)
	if exponent == 0 {
		return n, -1074
	}
	return n | 1<<52, exponent - 1075
}

package trigger

import (
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// wholeNumber reads a JSON number that must be whole, however it is spelled: 1000,
// 1e3 and 1000.0 are the same. It computes with the digits, so a huge exponent
// costs nothing. The code is empty, or says that the number has a fraction, or
// that it is beyond int64 in one direction.
func wholeNumber(text string) (int64, domain.ViolationCode) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, ""
	}
	negative := strings.HasPrefix(text, "-")
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(strings.TrimPrefix(text, "-")), "e")
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(integer+fraction, "0")
	if digits == "" {
		return 0, "" // zero, whatever its exponent
	}
	beyond := domain.TooLarge
	if negative {
		beyond = domain.TooSmall
	}
	shift := 0 // where the decimal point stands, counted from the end of digits
	if hasExponent {
		const most = 1_000_000_000 // no fraction is long enough to make up for more
		n, err := strconv.Atoi(exponent)
		if err != nil || n > most || n < -most {
			if strings.HasPrefix(exponent, "-") {
				return 0, domain.NotWhole
			}
			return 0, beyond
		}
		shift = n
	}
	shift -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	shift += len(digits) - len(trimmed)
	switch {
	case shift < 0:
		return 0, domain.NotWhole
	case len(trimmed)+shift > 19:
		return 0, beyond
	}
	n, err := strconv.ParseInt(trimmed+strings.Repeat("0", shift), 10, 64)
	if err != nil {
		return 0, beyond
	}
	if negative {
		n = -n
	}
	return n, ""
}

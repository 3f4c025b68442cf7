package noderunner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sluicehq/sluice/domain"
)

// What a double can hold, which is the range of numbers that programs agree on
// (RFC 7493, §2.2).
const greatestDouble, leastDouble = "1.7976931348623157e+308", "-1.7976931348623157e+308"

// maxDigits is how long a number without an exponent may be and is still no greater than
// a double can be.
const maxDigits = 308

// maxShown bounds how much of a number, or of a member's name, a message quotes.
const maxShown = 40

// checkNumbers refuses a tree with a number that no double can hold, as requests to the
// gateway are: whoever reads the run would get infinity for it, or an error for all of
// it. The error names the first by its path, members in the order of their names.
func checkNumbers(value any, path string) error {
	if inRange(value) {
		return nil
	}
	switch v := value.(type) {
	case json.Number:
		bound := "most " + greatestDouble
		if v[0] == '-' {
			bound = "least " + leastDouble
		}
		return fmt.Errorf("%s must be at %s, not %s", path, bound, clip(string(v), maxShown))
	case []any:
		for i, e := range v {
			if err := checkNumbers(e, domain.Index(path, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := checkNumbers(v[name], domain.Member(path, clip(name, maxShown))); err != nil {
				return err
			}
		}
	}
	return nil
}

// inRange says whether a double can hold each number of the tree, if not exactly.
func inRange(value any) bool {
	switch v := value.(type) {
	case json.Number:
		if len(v) <= maxDigits && !hasExponent(v) {
			return true
		}
		_, err := strconv.ParseFloat(string(v), 64)
		return err == nil
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !inRange(e) })
	case map[string]any:
		for _, e := range v {
			if !inRange(e) {
				return false
			}
		}
	}
	return true
}

func hasExponent(n json.Number) bool {
	for i := range len(n) {
		if n[i]|' ' == 'e' {
			return true
		}
	}
	return false
}

package jsonread

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// Query holds the query parameters of a request. Its getters record a violation
// under the parameter's name where it is given twice or is not what is asked for.
// The zero value holds none.
type Query struct {
	values map[string][]string
	asked  map[string]bool
}

// ParseQuery reads the raw query of an address. "+" is a space, and only "&"
// separates. A broken percent-escape is an Invalid error with the code
// malformed_query.
func ParseQuery(raw string) (Query, error) {
	if raw == "" {
		return Query{}, nil
	}
	values := map[string][]string{}
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, errName := url.QueryUnescape(name)
		value, errValue := url.QueryUnescape(value)
		if errName != nil || errValue != nil {
			return Query{}, domain.Fail(domain.Invalid, "malformed_query",
				`The query string has a "%%" without two hexadecimal digits behind it, in %q. Write a percent sign as %%25.`, legible(pair))
		}
		if pair != "" {
			values[name] = append(values[name], value)
		}
	}
	return Query{values, make(map[string]bool, len(values))}, nil
}

// Ignored returns the names of the parameters that nobody has asked for, sorted; nil for
// none.
func (q Query) Ignored() []string {
	var names []string
	for name := range q.values {
		if !q.asked[name] {
			names = append(names, legible(name))
		}
	}
	slices.Sort(names)
	return names[:min(len(names), domain.MaxViolations)]
}

// Names returns the names of all parameters, sorted.
func (q Query) Names() []string { return slices.Sorted(maps.Keys(q.values)) }

// all returns the values of a parameter.
func (q Query) all(name string) []string {
	values := q.values[name]
	if values != nil {
		q.asked[name] = true
	}
	return values
}

// String returns a parameter as text that can be stored: valid UTF-8 without
// U+0000. It is empty when absent.
func (q Query) String(name string, r *domain.Rules) (value string, present bool) {
	all := q.all(name)
	switch len(all) {
	case 0:
		return "", false
	case 1:
	default:
		r.Check(false, name, domain.Duplicate, "must be given once, not %d times", len(all))
		return "", false
	}
	if bad := badText(all[0]); bad != "" {
		r.Check(false, name, domain.BadText, "%s", bad)
		return "", false
	}
	return all[0], true
}

func badText(value string) string {
	switch {
	case strings.ContainsRune(value, 0):
		return "must not contain the character U+0000"
	case strings.ToValidUTF8(value, "") != value:
		return "must be valid UTF-8"
	}
	return ""
}

// Bool returns a parameter that is true or false, nil when absent.
func (q Query) Bool(name string, r *domain.Rules) *bool {
	value, present := q.String(name, r)
	if !present {
		return nil
	}
	if value != "true" && value != "false" {
		r.Check(false, name, domain.NotAllowed, "must be true or false, not %q", legible(value))
		return nil
	}
	is := value == "true"
	return &is
}

// Int returns a parameter that is a whole number from least to most, nil when
// absent.
func (q Query) Int(name string, least, most int, r *domain.Rules) *int {
	value, present := q.String(name, r)
	if !present {
		return nil
	}
	digits := strings.TrimPrefix(value, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		r.Check(false, name, domain.BadFormat, "must be a whole number, not %q", legible(value))
		return nil
	}
	n, err := strconv.Atoi(value)
	low := n < least || err != nil && value[0] == '-'
	high := n > most || err != nil && value[0] != '-'
	r.Check(!low, name, domain.TooSmall, "must be at least %d, not %s", least, legible(value))
	r.Check(!high, name, domain.TooLarge, "must be at most %d, not %s", most, legible(value))
	if low || high {
		return nil
	}
	return &n
}

// OneOf returns a parameter that is one of the allowed values, empty when absent.
func (q Query) OneOf(name string, allowed []string, r *domain.Rules) (value string, present bool) {
	value, present = q.String(name, r)
	if !present {
		return "", false
	}
	for _, a := range allowed {
		if value == a {
			return value, true
		}
	}
	r.Check(false, name, domain.NotAllowed, "must be %s, not %q", domain.OneOf(allowed...), legible(value))
	return "", false
}

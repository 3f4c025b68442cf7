package trigger

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Cron is a cron expression of five fields: minute, hour, day of the month, month
// and day of the week. Build one with [ParseCron].
//
// A day fits when the month does and, where both day fields are restricted, one of
// them; where one is *, the other (POSIX, "crontab"). A step such as */2 restricts.
type Cron struct {
	text                          string
	minutes, hours                uint64 // sets of values, one bit each
	daysOfMonth, months, weekdays uint64
	anyDayOfMonth, anyWeekday     bool // the field is *
	elapsing                      bool // the hour is *, */n or every hour by name: it follows the time that passes, not the clocks
}

// allHours is the set of all hours.
const allHours = 1<<24 - 1

// cronField describes one field.
type cronField struct {
	name        string
	least, most int
	names       []string // of the values from least on
}

var (
	minuteField     = cronField{name: "minute", least: 0, most: 59}
	hourField       = cronField{name: "hour", least: 0, most: 23}
	dayOfMonthField = cronField{name: "day of the month", least: 1, most: 31}
	monthField      = cronField{name: "month", least: 1, most: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")}
	weekdayField    = cronField{name: "day of the week", least: 0, most: sundayAgain, names: strings.Fields("sun mon tue wed thu fri sat")}
)

// shorthands are the names for common expressions.
var shorthands = map[string]string{
	"@hourly":   "0 * * * *",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@weekly":   "0 0 * * 0",
	"@monthly":  "0 0 1 * *",
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
}

// ParseCron reads five fields, each a list of values, ranges and steps ("1,15",
// "MON-FRI", "*/10"; Sunday is 0 or 7, names in any case), or one of @hourly, @daily, @midnight,
// @weekly, @monthly, @yearly and @annually. It refuses everything else, and
// expressions that never fire. The error is one sentence for the client, to stand
// after the field's name.
func ParseCron(text string) (Cron, error) {
	fields, err := cronFields(strings.TrimSpace(text))
	if err != nil {
		return Cron{}, err
	}
	c := Cron{text: text, anyDayOfMonth: isAny(fields[2]), anyWeekday: isAny(fields[4])}
	for i, f := range []struct {
		cronField
		into *uint64
	}{
		{minuteField, &c.minutes}, {hourField, &c.hours}, {dayOfMonthField, &c.daysOfMonth}, {monthField, &c.months}, {weekdayField, &c.weekdays},
	} {
		set, err := f.parse(fields[i])
		if err != nil {
			return Cron{}, err
		}
		*f.into = set
	}
	if c.weekdays&(1<<sundayAgain) != 0 {
		c.weekdays = c.weekdays&^(1<<sundayAgain) | 1
	}
	if c.neverFires() {
		return Cron{}, fmt.Errorf("never fires: no month named %q has a day %q", fields[3], fields[2])
	}
	c.elapsing = c.hours == allHours || strings.HasPrefix(fields[1], "*/") && !strings.Contains(fields[1], ",")
	return c, nil
}

// cronFields splits an expression into its five fields.
func cronFields(expr string) ([]string, error) {
	switch full, known := shorthands[strings.ToLower(expr)]; {
	case known:
		return strings.Fields(full), nil
	case strings.HasPrefix(expr, "@every"):
		return nil, fmt.Errorf("must not be %q; the member intervalMs says how often", expr)
	case strings.HasPrefix(expr, "@"):
		return nil, fmt.Errorf("must be five fields or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually, not %q", expr)
	case strings.Contains(expr, "TZ="):
		return nil, fmt.Errorf("must not name a time zone; the member timezone does")
	}
	fields := strings.Fields(expr)
	const shape = "must have five fields (minute, hour, day of the month, month, day of the week), not %d"
	switch n := len(fields); {
	case n == 6:
		return nil, fmt.Errorf(shape+"; there is no field for seconds or years", n)
	case n != 5:
		return nil, fmt.Errorf(shape, n)
	}
	return fields, nil
}

// isAny says whether a field does not restrict: * alone or in a list.
func isAny(field string) bool {
	for part := range strings.SplitSeq(field, ",") {
		if part == "*" || part == "*/1" {
			return true
		}
	}
	return false
}

// String returns the expression as it was given.
func (c Cron) String() string { return c.text }

// neverFires says whether no date fits: only the days of the month can rule every
// date out, when no named month is long enough.
func (c Cron) neverFires() bool {
	if c.anyDayOfMonth || !c.anyWeekday {
		return false
	}
	first := bits.TrailingZeros64(c.daysOfMonth)
	for month := 1; month <= 12; month++ {
		if c.months&(1<<month) != 0 && first <= longest[month] {
			return false
		}
	}
	return true
}

// longest holds the greatest number of days that each month ever has.
var longest = [13]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// parse reads one field into a set of values.
func (f cronField) parse(text string) (uint64, error) {
	var set uint64
	for part := range strings.SplitSeq(text, ",") {
		values, err := f.parsePart(part)
		if err != nil {
			return 0, fmt.Errorf("has a wrong %s field %q: %w", f.name, text, err)
		}
		set |= values
	}
	return set, nil
}

// parsePart reads one value, range or step. A step on a single value ("5/10") goes
// on to the field's end.
func (f cronField) parsePart(text string) (uint64, error) {
	span, stepText, hasStep := strings.Cut(text, "/")
	from, to, err := f.span(span, hasStep)
	if err != nil {
		return 0, err
	}
	step := 1
	if most := f.end() - f.least + 1; hasStep {
		if step, err = number(stepText); err != nil || step < 1 || step > most {
			return 0, fmt.Errorf("the step %q must be a whole number from 1 to %d", stepText, most)
		}
	}
	var set uint64
	for v := from; v <= to; v += step {
		set |= 1 << v
	}
	return set, nil
}

// span reads *, a range, or a single value, which is the first of a range to the
// field's end where a step follows.
func (f cronField) span(text string, hasStep bool) (from, to int, err error) {
	if text == "*" {
		return f.least, f.end(), nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if from, err = f.value(first); err != nil {
		return 0, 0, err
	}
	switch {
	case isRange:
		if to, err = f.value(last); err != nil {
			return 0, 0, err
		}
		if to == 0 && from > 0 && strings.EqualFold(last, "sun") {
			to = sundayAgain // so that FRI-SUN is the weekend and the day before
		}
	case hasStep:
		to = max(from, f.end()) // Sunday as 7 is beyond it
	default:
		to = from
	}
	if from > to {
		return 0, 0, fmt.Errorf("the range %q ends before it begins", text)
	}
	return from, to, nil
}

// sundayAgain is the second number of Sunday.
const sundayAgain = 7

// end is the greatest value that * and steps reach: Sunday counts once.
func (f cronField) end() int {
	if f.most == sundayAgain {
		return f.most - 1
	}
	return f.most
}

// value reads one number or name.
func (f cronField) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.least + i, nil
		}
	}
	n, err := number(text)
	if err != nil || n < f.least || n > f.most {
		if text == "?" {
			return 0, fmt.Errorf(`"?" is not known; write "*"`)
		}
		alternative := ""
		if f.names != nil {
			alternative = fmt.Sprintf(" or a name such as %s", strings.ToUpper(f.names[1]))
		}
		return 0, fmt.Errorf("%q must be a number from %d to %d%s", text, f.least, f.most, alternative)
	}
	return n, nil
}

// number reads one or two digits. Signs and longer numbers, which strconv takes,
// are refused.
func number(text string) (int, error) {
	if len(text) == 0 || len(text) > 2 || strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(text)
}

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
// them; where one is *, the other.
type Cron struct {
	text                          string
	minutes, hours                uint64
	daysOfMonth, months, weekdays uint64
	anyDayOfMonth, anyWeekday     bool // the field is *
	everyHour                     bool // the hour field is * or */n: times are counted by the clock that runs through
}

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
	weekdayField    = cronField{name: "day of the week", least: 0, most: 7, names: strings.Fields("sun mon tue wed thu fri sat")}
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
// "MON-FRI", "*/10"; Sunday is 0 or 7), or one of @hourly, @daily, @midnight,
// @weekly, @monthly, @yearly and @annually. It refuses everything else, and
// expressions that never fire. The error is one sentence for the client, to stand
// after the field's name.
func ParseCron(text string) (Cron, error) {
	expr := strings.TrimSpace(text)
	if strings.HasPrefix(expr, "@") {
		full, ok := shorthands[strings.ToLower(expr)]
		if !ok {
			return Cron{}, fmt.Errorf("must be five fields or one of @hourly, @daily, @weekly, @monthly and @yearly, not %q", expr)
		}
		expr = full
	}
	if strings.Contains(expr, "TZ=") {
		return Cron{}, fmt.Errorf("must not name a time zone; the member timezone does")
	}
	fields := strings.Fields(expr)
	if len(fields) != 5 {
		return Cron{}, fmt.Errorf("must have five fields (minute, hour, day of the month, month, day of the week), not %d", len(fields))
	}
	c := Cron{text: text, anyDayOfMonth: fields[2] == "*", anyWeekday: fields[4] == "*"}
	c.everyHour = fields[1] == "*" || strings.HasPrefix(fields[1], "*/") && !strings.Contains(fields[1], ",")
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
	if c.weekdays&(1<<7) != 0 { // Sunday has two numbers
		c.weekdays = c.weekdays&^(1<<7) | 1
	}
	if c.neverFires() {
		return Cron{}, fmt.Errorf("never fires: no month it names has such a day")
	}
	return c, nil
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

// parsePart reads one value, range or step.
func (f cronField) parsePart(text string) (uint64, error) {
	span, stepText, hasStep := strings.Cut(text, "/")
	from, to := f.least, f.most
	if span != "*" {
		first, last, isRange := strings.Cut(span, "-")
		var err error
		if from, err = f.value(first); err != nil {
			return 0, err
		}
		switch {
		case isRange:
			if to, err = f.value(last); err != nil {
				return 0, err
			}
		case !hasStep:
			to = from
		}
		if from > to {
			return 0, fmt.Errorf("the range %q ends before it begins", span)
		}
	}
	step := 1
	if hasStep {
		var err error
		if step, err = number(stepText); err != nil || step < 1 || step > f.most-f.least+1 {
			return 0, fmt.Errorf("the step %q must be a whole number from 1 to %d", stepText, f.most-f.least+1)
		}
	}
	if span == "*" && f.name == weekdayField.name {
		to = 6 // Sunday once, so that steps count seven days
	}
	var set uint64
	for v := from; v <= to; v += step {
		set |= 1 << v
	}
	return set, nil
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

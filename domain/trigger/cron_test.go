package trigger_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/trigger"
)

func mustParse(t testing.TB, expr string) trigger.Cron {
	t.Helper()
	c, err := trigger.ParseCron(expr)
	if err != nil {
		t.Fatalf("%q: %v", expr, err)
	}
	return c
}

func at(text string) time.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return parsed
}

// The instants follow Thursday, 1 January 2026, 00:00 UTC.
func TestExpressionsAreDueWhenTheySay(t *testing.T) {
	for expr, want := range map[string][]string{
		"* * * * *":           {"2026-01-01T00:01", "2026-01-01T00:02"},
		"*/20 * * * *":        {"2026-01-01T00:20", "2026-01-01T00:40", "2026-01-01T01:00"},
		"50/5 3 * * *":        {"2026-01-01T03:50", "2026-01-01T03:55", "2026-01-02T03:50"},
		"10-20/5 3 * * *":     {"2026-01-01T03:10", "2026-01-01T03:15", "2026-01-01T03:20", "2026-01-02T03:10"},
		"5,3 4,2 * * *":       {"2026-01-01T02:03", "2026-01-01T02:05", "2026-01-01T04:03"},
		"  0\t9  * * MON-Fri": {"2026-01-01T09:00", "2026-01-02T09:00", "2026-01-05T09:00"},
		"0 0 * * FRI-SUN":     {"2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00", "2026-01-09T00:00"},
		"0 0 * * 7":           {"2026-01-04T00:00", "2026-01-11T00:00"},
		"0 0 * * 0,7":         {"2026-01-04T00:00", "2026-01-11T00:00"},
		"0 0 * * 5-7":         {"2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00", "2026-01-09T00:00"},
		"0 0 * * 1/2":         {"2026-01-02T00:00", "2026-01-05T00:00", "2026-01-07T00:00", "2026-01-09T00:00"},
		"0 0 * * 7/2":         {"2026-01-04T00:00", "2026-01-11T00:00"},
		"0 0 * * */2":         {"2026-01-03T00:00", "2026-01-04T00:00", "2026-01-06T00:00"},
		"0 0 1 JAN,jul *":     {"2026-07-01T00:00", "2027-01-01T00:00"},
		"0 0 31 * *":          {"2026-01-31T00:00", "2026-03-31T00:00", "2026-05-31T00:00"},
		"0 0 29 2 *":          {"2028-02-29T00:00", "2032-02-29T00:00"},
		"0 0 13 * 5":          {"2026-01-02T00:00", "2026-01-09T00:00", "2026-01-13T00:00"}, // the 13th or a Friday
		"0 0 */10 * 5":        {"2026-01-02T00:00", "2026-01-09T00:00", "2026-01-11T00:00"}, // a step restricts
		"0 0 */1 * 5":         {"2026-01-02T00:00", "2026-01-09T00:00", "2026-01-16T00:00"}, // a step of one does not
		"0 0 13 * *,1":        {"2026-01-13T00:00", "2026-02-13T00:00"},
		"0 0 30 2 1":          {"2026-02-02T00:00", "2026-02-09T00:00"},
		"@hourly":             {"2026-01-01T01:00", "2026-01-01T02:00"},
		"@daily":              {"2026-01-02T00:00", "2026-01-03T00:00"},
		"@MIDNIGHT":           {"2026-01-02T00:00", "2026-01-03T00:00"},
		" @weekly ":           {"2026-01-04T00:00", "2026-01-11T00:00"},
		"@monthly":            {"2026-02-01T00:00", "2026-03-01T00:00"},
		"@yearly":             {"2027-01-01T00:00"},
		"@annually":           {"2027-01-01T00:00", "2028-01-01T00:00"},
	} {
		t.Run(expr, func(t *testing.T) {
			c := mustParse(t, expr)
			if c.String() != expr {
				t.Errorf("it reads %q", c)
			}
			var got []string
			for _, o := range trigger.NewCronSchedule(c, time.UTC).Upcoming(at("2026-01-01T00:00:00Z"), len(want)) {
				got = append(got, o.At.Format("2006-01-02T15:04"))
			}
			if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
				t.Errorf("it is due at\n%s, not at\n%s", g, w)
			}
		})
	}
}

func TestRefusedExpressionsSayWhatIsWrong(t *testing.T) {
	const fields = "must have five fields (minute, hour, day of the month, month, day of the week), not "
	for expr, want := range map[string]string{
		"":                          fields + "0",
		"* * * *":                   fields + "4",
		"0 * * * * *":               fields + "6; there is no field for seconds or years",
		"0 * * * * * *":             fields + "7",
		"60 * * * *":                `has a wrong minute field "60": "60" must be a number from 0 to 59`,
		"-1 * * * *":                `has a wrong minute field "-1": "" must be a number from 0 to 59`,
		"+1 * * * *":                `has a wrong minute field "+1": "+1" must be a number from 0 to 59`,
		"007 * * * *":               `has a wrong minute field "007": "007" must be a number from 0 to 59`,
		"1.5 * * * *":               `has a wrong minute field "1.5": "1.5" must be a number from 0 to 59`,
		"٣ * * * *":                 `has a wrong minute field "٣": "٣" must be a number from 0 to 59`,
		"0 24 * * *":                `has a wrong hour field "24": "24" must be a number from 0 to 23`,
		"0 0 0 * *":                 `has a wrong day of the month field "0": "0" must be a number from 1 to 31`,
		"0 0 ? * 1":                 `has a wrong day of the month field "?": "?" is not known; write "*"`,
		"0 0 L * *":                 `has a wrong day of the month field "L": "L" must be a number from 1 to 31`,
		"0 0 1 13 *":                `has a wrong month field "13": "13" must be a number from 1 to 12 or a name such as FEB`,
		"0 0 1 janu *":              `has a wrong month field "janu": "janu" must be a number from 1 to 12 or a name such as FEB`,
		"0 0 * * 8":                 `has a wrong day of the week field "8": "8" must be a number from 0 to 7 or a name such as MON`,
		"0 0 * * 1#2":               `has a wrong day of the week field "1#2": "1#2" must be a number from 0 to 7 or a name such as MON`,
		"0 0 * * SAT-MON":           `has a wrong day of the week field "SAT-MON": the range "SAT-MON" ends before it begins`,
		"0 17-9 * * *":              `has a wrong hour field "17-9": the range "17-9" ends before it begins`,
		"0 1-2-3 * * *":             `has a wrong hour field "1-2-3": "2-3" must be a number from 0 to 23`,
		"*/0 * * * *":               `has a wrong minute field "*/0": the step "0" must be a whole number from 1 to 60`,
		"*/61 * * * *":              `has a wrong minute field "*/61": the step "61" must be a whole number from 1 to 60`,
		"*/ * * * *":                `has a wrong minute field "*/": the step "" must be a whole number from 1 to 60`,
		"0 0 * * */8":               `has a wrong day of the week field "*/8": the step "8" must be a whole number from 1 to 7`,
		"1,,2 * * * *":              `has a wrong minute field "1,,2": "" must be a number from 0 to 59`,
		"0 0 30 2 *":                `never fires: no month named "2" has a day "30"`,
		"0 0 31 FEB,4,jun,9,11 *":   `never fires: no month named "FEB,4,jun,9,11" has a day "31"`,
		"@every 5m":                 `must not be "@every 5m"; the member intervalMs says how often`,
		"@reboot":                   `must be five fields or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually, not "@reboot"`,
		"TZ=":                       "must not name a time zone; the member timezone does",
		"TZ=UTC 0 0 * * *":          "must not name a time zone; the member timezone does",
		"CRON_TZ=Asia/Tokyo @daily": "must not name a time zone; the member timezone does",
	} {
		t.Run(expr, func(t *testing.T) {
			c, err := trigger.ParseCron(expr)
			if err == nil {
				t.Fatalf("%q was accepted", c)
			}
			if err.Error() != want {
				t.Errorf("the message is\n%s, not\n%s", err, want)
			}
		})
	}
}

// drawField draws a field as people write it.
func drawField(t *rapid.T, label string, least, most int, names string) string {
	value := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(least, most).Draw(t, "value")
		if all := strings.Fields(names); len(all) > 0 && rapid.Bool().Draw(t, "named") {
			return all[n-least]
		}
		return strconv.Itoa(n)
	})
	part := rapid.Custom(func(t *rapid.T) string {
		step := "/" + strconv.Itoa(rapid.IntRange(1, most-least+1).Draw(t, "step"))
		from := rapid.IntRange(least, most).Draw(t, "from")
		span := strconv.Itoa(from) + "-" + strconv.Itoa(rapid.IntRange(from, most).Draw(t, "to"))
		return rapid.SampledFrom([]string{"*", "*" + step, value.Draw(t, "value"), span, span + step, strconv.Itoa(from) + step}).Draw(t, "part")
	})
	if rapid.Bool().Draw(t, label+" is any") {
		return "*"
	}
	return strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, label), ",")
}

func drawExpression(t *rapid.T) string {
	return strings.Join([]string{
		drawField(t, "minute", 0, 59, ""), drawField(t, "hour", 0, 23, ""), drawField(t, "day", 1, 31, ""),
		drawField(t, "month", 1, 12, "JAN Feb MAR apr MAY JUN JUL aug SEP OCT NOV DEC"),
		drawField(t, "weekday", 0, 6, "SUN mon TUE Wed THU FRI SAT"),
	}, " ")
}

func TestTheRarestDayIsFoundAcrossAYearThatIsNoLeapYear(t *testing.T) {
	// A field for the day of the week that is * leaves the day of the month alone, so
	// the rarest date is a 29 February; 2100 has none.
	for _, expr := range []string{"0 0 29 2 *", "0 * 29 2 *"} {
		next, ok := trigger.NewCronSchedule(mustParse(t, expr), time.UTC).Next(at("2096-03-01T00:00:00Z"))
		if want := at("2104-02-29T00:00:00Z"); !ok || !next.At.Equal(want) {
			t.Errorf("%q is due at %v, %v, not at %v", expr, next.At, ok, want)
		}
	}
}

// Package usage counts what tenants have used of the gateway, by days of UTC.
package usage

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Counts are what happened within some time. Requests, RequestsRefused, Filtered, Skipped and CodeMicros are counted by the
// processes; everything else in the unit of work that records it.
type Counts struct {
	Requests        int64 // that were authenticated
	RequestsRefused int64 // of them, by a limit or a permission

	Started  int64 // runs
	Children int64 // of them, by other runs

	// How runs ended, children among them. A run that is retried ends again.
	Completed int64
	Failed    int64
	Cancelled int64

	Filtered int64 // calls, events and instants that were not for their trigger
	Skipped  int64 // those that started no run for another reason: the trigger had as many as it may, or could not look at the payload

	NodeAttempts int64

	Delivered        int64 // webhook deliveries that an endpoint took
	DeliveriesFailed int64 // that ended otherwise

	HooksAccepted int64 // deliveries to hooks that were recorded and whose sender was known
	HooksRefused  int64 // whose sender was not

	CodeMicros int64 // for which code of tenants ran
}

// Fields are all counts, in the order of [Names].
func (c *Counts) Fields() []*int64 {
	return []*int64{
		&c.Requests, &c.RequestsRefused, &c.Started, &c.Children, &c.Completed, &c.Failed, &c.Cancelled, &c.Filtered, &c.Skipped, &c.NodeAttempts,
		&c.Delivered, &c.DeliveriesFailed, &c.HooksAccepted, &c.HooksRefused, &c.CodeMicros,
	}
}

// Names are what stores and reports call the counts.
func Names() []string {
	return []string{
		"requests", "requests_refused", "runs_started", "runs_children", "runs_completed", "runs_failed", "runs_cancelled", "runs_filtered", "runs_skipped", "node_attempts",
		"delivered", "deliveries_failed", "hooks_accepted", "hooks_refused", "code_us",
	}
}

// Add adds other counts.
func (c *Counts) Add(other Counts) {
	for i, n := range other.Fields() {
		*c.Fields()[i] += *n
	}
}

// Recorded is c without what only processes count.
func (c Counts) Recorded() Counts {
	c.Requests, c.RequestsRefused, c.Filtered, c.Skipped, c.CodeMicros = 0, 0, 0, 0, 0
	return c
}

// Day is a day of UTC, as 2006-01-02.
type Day string

// DayOf is the day of an instant.
func DayOf(at time.Time) Day { return Day(at.UTC().Format(time.DateOnly)) }

// Start is when the day begins.
func (d Day) Start() time.Time {
	at, _ := time.Parse(time.DateOnly, string(d)) // the zero time of what is no day
	return at
}

// MonthStart is when the month of an instant begins.
func MonthStart(at time.Time) time.Time {
	return time.Date(at.UTC().Year(), at.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
}

// NextMonth is when the month of an instant has ended.
func NextMonth(at time.Time) time.Time { return MonthStart(at).AddDate(0, 1, 0) }

// Daily is what a tenant used on a day.
type Daily struct {
	Day       Day
	Counts    Counts
	BytesKept *int64 // when the day ended, or now; nil where nobody noted it
}

// Step is what an item of a report is about.
type Step string

// The steps.
const (
	ByDay   Step = "day"
	ByMonth Step = "month"
)

// Steps lists every step.
func Steps() []Step { return []Step{ByDay, ByMonth} }

func (s Step) next(at time.Time) time.Time {
	if s == ByMonth {
		return NextMonth(at)
	}
	return at.AddDate(0, 0, 1)
}

func (s Step) start(at time.Time) time.Time {
	if s == ByMonth {
		return MonthStart(at)
	}
	return DayOf(at).Start()
}

// MaxItems is how many items a report has at most.
const MaxItems = 400

// Period is what a report is about: whole days, or months.
type Period struct {
	From, To time.Time // To is not in it
	By       Step
}

// NewPeriod widens what was asked for to whole days or months. Without from it is the month of now, without to up to the end of today. What is
// wrong is added to the rules.
func NewPeriod(from, to *time.Time, by Step, now time.Time, r *domain.Rules) Period {
	p := Period{From: MonthStart(now), To: now, By: by}
	if from != nil {
		p.From = *from
	}
	if to != nil {
		p.To = to.Add(-time.Nanosecond)
	}
	p.From = by.start(p.From)
	p.To = by.next(by.start(p.To))
	r.Check(p.To.After(p.From), "to", domain.TooSmall, "must be after from")
	items := 0
	for at := p.From; at.Before(p.To) && items <= MaxItems; at = by.next(at) {
		items++
	}
	r.Check(items <= MaxItems, "from", domain.TooSmall, "must be at most %d %ss before to", MaxItems, string(by))
	return p
}

// Item is what a tenant used within a day or a month.
type Item struct {
	Start     time.Time
	Counts    Counts
	BytesKept int64 // when it ended, or now
}

// Report is what a tenant used within a period.
type Report struct {
	Period Period
	Tenant tenant.ID
	Items  []Item // one for each day or month
	Totals Counts

	BytesKept int64 // at the end of the period, or now

	Standing Standing // now
}

// NewReport makes a report of days, which come in order, some of them perhaps before the period: what was kept stays so until somebody notes
// something else.
func NewReport(of tenant.ID, p Period, days []Daily) Report {
	report := Report{Period: p, Tenant: of}
	kept := int64(0)
	for at := p.From; at.Before(p.To); at = p.By.next(at) {
		item := Item{Start: at}
		for len(days) > 0 && days[0].Day.Start().Before(p.By.next(at)) {
			if days[0].BytesKept != nil {
				kept = *days[0].BytesKept
			}
			if !days[0].Day.Start().Before(at) {
				item.Counts.Add(days[0].Counts)
			}
			days = days[1:]
		}
		item.BytesKept = kept
		report.Totals.Add(item.Counts)
		report.Items = append(report.Items, item)
	}
	report.BytesKept = kept
	return report
}

// KeptNow notes in days, which come in order, what is kept today.
func KeptNow(days []Daily, today Day, kept int64) []Daily {
	i, found := slices.BinarySearchFunc(days, today, func(d Daily, day Day) int { return cmp.Compare(d.Day, day) })
	if !found {
		days = slices.Insert(days, i, Daily{Day: today})
	}
	days[i].BytesKept = &kept
	return days
}

// Difference is what was counted and the records do not say, or the other way round.
type Difference struct {
	Tenant   tenant.ID
	Day      Day    // empty of what is kept, which is compared as it is now
	Name     string // one of [Names], or bytes_kept
	Counted  int64
	Recorded int64
}

// Compare finds the differences from a day on, in the order of days and names.
func Compare(of tenant.ID, since Day, counted, recorded map[Day]Counts) (all []Difference) {
	days := maps.Clone(counted)
	maps.Copy(days, recorded)
	for _, day := range slices.Sorted(maps.Keys(days)) {
		was, is := counted[day].Recorded(), recorded[day]
		for i, name := range Names() {
			if a, b := *was.Fields()[i], *is.Fields()[i]; a != b && day >= since {
				all = append(all, Difference{of, day, name, a, b})
			}
		}
	}
	return all
}

package exchange

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/usage"
)

// Usage is what a tenant used within a period, as both APIs show it.
type Usage struct {
	From   string      `json:"from"`
	To     string      `json:"to"`
	By     string      `json:"by"`
	Items  []usageItem `json:"items"`
	Totals usageCounts `json:"totals"`

	// Now, whatever the period is.
	Budgets Budgets `json:"budgets"`
	Used    Budgets `json:"used"`
}

type usageItem struct {
	Start string `json:"start"`
	usageCounts
}

type usageCounts struct {
	Requests     usageRequests   `json:"requests"`
	Runs         usageRuns       `json:"runs"`
	NodeAttempts int64           `json:"nodeAttempts"`
	Deliveries   usageDeliveries `json:"deliveries"`
	Hooks        usageHooks      `json:"hooks"`
	CodeSeconds  float64         `json:"codeSeconds"`
	BytesKept    int64           `json:"bytesKept"`
}

type usageRequests struct {
	Total   int64 `json:"total"`
	Refused int64 `json:"refused"`
}

type usageRuns struct {
	Started   int64 `json:"started"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
	Filtered  int64 `json:"filtered"`
	Skipped   int64 `json:"skipped"`
	Children  int64 `json:"children"`
}

type usageDeliveries struct {
	Delivered int64 `json:"delivered"`
	Failed    int64 `json:"failed"`
}

type usageHooks struct {
	Accepted int64 `json:"accepted"`
	Refused  int64 `json:"refused"`
}

func usageCountsOf(c usage.Counts, kept int64) usageCounts {
	return usageCounts{
		Requests:     usageRequests{Total: c.Requests, Refused: c.RequestsRefused},
		Runs:         usageRuns{c.Started, c.Completed, c.Failed, c.Cancelled, c.Filtered, c.Skipped, c.Children},
		NodeAttempts: c.NodeAttempts, Deliveries: usageDeliveries{c.Delivered, c.DeliveriesFailed}, Hooks: usageHooks{c.HooksAccepted, c.HooksRefused},
		CodeSeconds: float64(c.CodeMicros) / float64(time.Second/time.Microsecond), BytesKept: kept,
	}
}

// UsageOf is the body of a report.
func UsageOf(r usage.Report) Usage {
	body := Usage{
		From: Timestamp(r.Period.From), To: Timestamp(r.Period.To), By: string(r.Period.By), Items: make([]usageItem, len(r.Items)), Totals: usageCountsOf(r.Totals, r.BytesKept),
		Budgets: BudgetsOf(r.Standing.Budgets), Used: amountsOf(r.Standing.Budgets, r.Standing.Used),
	}
	for i, item := range r.Items {
		body.Items[i] = usageItem{Timestamp(item.Start), usageCountsOf(item.Counts, item.BytesKept)}
	}
	return body
}

// ReadPeriod reads what a report is to be about, by months where byDefault says so and nothing else is asked for.
func ReadPeriod(l *ListRequest, byDefault usage.Step, now time.Time) usage.Period {
	steps := make([]string, 0, len(usage.Steps()))
	for _, s := range usage.Steps() {
		steps = append(steps, string(s))
	}
	by, given := l.Params.OneOf("by", steps, &l.Rules)
	if !given {
		by = string(byDefault)
	}
	return usage.NewPeriod(l.dayOrTime("from"), l.dayOrTime("to"), usage.Step(by), now, &l.Rules)
}

// dayOrTime reads a parameter that is a day, when it begins, or a time; nil when it is absent.
func (l *ListRequest) dayOrTime(name string) *time.Time {
	text, present := l.Params.String(name, &l.Rules)
	if !present {
		return nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	l.Rules.Check(err == nil, name, domain.BadFormat, "must be a day such as 2027-01-31, or a time in RFC 3339")
	if err != nil {
		return nil
	}
	at = at.UTC()
	return &at
}

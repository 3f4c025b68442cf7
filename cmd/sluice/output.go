package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/httpapi/client/workflowfile"
	"github.com/sluicehq/sluice/domain"
)

// printf writes to standard output, which carries results only; logs go to
// standard error.
func (p *program) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.stdout, format, args...)
	return err
}

// printJSON writes one JSON document.
func (p *program) printJSON(value any) error {
	enc := json.NewEncoder(p.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// printTable writes rows in columns. The first row is the heading.
func (p *program) printTable(rows [][]string) error {
	w := tabwriter.NewWriter(p.stdout, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// instant is a time as JSON documents show it: in the form that the API has, with three
// digits of a second whatever they are.
type instant time.Time

// MarshalText returns it in UTC.
func (i instant) MarshalText() ([]byte, error) {
	return time.Time(i).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

// shown renders an optional instant for people.
func shown(i *instant) string {
	if i == nil {
		return "-"
	}
	return time.Time(*i).Format(time.RFC3339)
}

// flagsOf are the options that give a member of what is created, changed or listed.
var flagsOf = map[string]string{
	"name": "--name", "language": "--language", "type": "--type", "expiresAt": "--valid-for", "graceSeconds": "--grace",
	"email": "--email", "role": "--role",
	"limit": "--limit", "offset": "--offset", "reason": "--reason",
	"limits.public.requestsPerMinute": "--public-per-minute", "limits.public.concurrentRequests": "--public-concurrent",
	"limits.secret.requestsPerMinute": "--secret-per-minute", "limits.secret.concurrentRequests": "--secret-concurrent",
	"limits.runRetentionDays": "--run-retention-days",
	"budgets.runsPerMonth":    "--runs-per-month", "budgets.liveRuns": "--live-runs", "budgets.bytesKept": "--bytes-kept",
}

// explain turns an error into what a person at a terminal can use: the message and
// every violation, under the name of its option, and the cause where that is more than what the message says: of a
// conflict it is a detail of the store.
func explain(err error) string {
	var known *domain.Error
	if problems := (workflowfile.Problems{}); errors.As(err, &problems) {
		return "this is wrong:\n" + err.Error()
	}
	if !errors.As(err, &known) {
		return err.Error()
	}
	text := known.Message
	for _, v := range known.Violations {
		if flag, ok := flagsOf[v.Field]; ok {
			v.Field = flag
		}
		text += "\n  " + v.String()
	}
	if known.Cause != nil && known.Kind != domain.Conflict {
		text += "\n  cause: " + known.Cause.Error()
	}
	return text
}

// pageJSON is how a page of a list is printed as JSON.
type pageJSON[T any] struct {
	Items   []T  `json:"items"`
	Total   int  `json:"total"`
	Limit   int  `json:"limit"`
	Offset  int  `json:"offset"`
	HasMore bool `json:"hasMore"`
}

func pageOf[T, S any](found domain.Page[T], show func(T) S) pageJSON[S] {
	out := pageJSON[S]{Items: []S{}, Total: found.Total, Limit: found.Limit, Offset: found.Offset, HasMore: found.HasMore()}
	for _, item := range found.Items {
		out.Items = append(out.Items, show(item))
	}
	return out
}

func pageFlags(cmd *cobra.Command, limit, offset *int) {
	cmd.Flags().IntVar(limit, "limit", domain.DefaultPageLimit, "how many to list, at most 100")
	cmd.Flags().IntVar(offset, "offset", 0, "how many to skip")
}

package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// The lines of a Markdown file between which the tables are written.
const (
	beginTables = "<!-- bench: begin -->"
	endTables   = "<!-- bench: end -->"
)

// writeInto replaces the tables in a Markdown file by those of this run.
func (r report) writeInto(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), beginTables)
	_, after, ended := strings.Cut(rest, endTables)
	if !found || !ended {
		return fmt.Errorf("%s does not hold the lines %s and %s", file, beginTables, endTables)
	}
	return os.WriteFile(file, []byte(before+beginTables+"\n"+r.markdown()+endTables+after), 0o644)
}

// markdown renders the report for people who did not see it run.
func (r report) markdown() string {
	var b strings.Builder
	write := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format, args...) } // cannot fail
	write("Measured on %s, %s; medians of %d rounds of %g s.\n\n", r.Taken.Format(time.DateOnly), r.Machine, r.Rounds, r.Seconds)
	if len(r.Rows) > 0 {
		write("| what | requests/s | baseline/s | ratio | lowest–highest | aim | p50 ms | p99 ms |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	}
	for _, row := range r.Rows {
		write("| %s | %.0f | %.0f | %.2f | %.2f–%.2f | %s | %.2f | %.2f |\n", row.What, row.Ours, row.Baseline, row.Ratio,
			row.LowRatio, row.HighRatio, aimed(fmt.Sprintf("≥ %.2f", row.Aim), row.Reached), row.P50, row.P99)
	}
	if len(r.Figures) > 0 {
		write("\n| what | measured | unit | lowest–highest | aim | from |\n|---|--:|---|--:|--:|---|\n")
	}
	for _, f := range r.Figures {
		write("| %s | %s | %s | %s | %s | %s |\n", f.What, f.digits(f.Value), f.Unit, f.span(), f.aim(), f.Detail)
	}
	return b.String()
}

// span is the least and the greatest that was measured, where that was done twice.
func (f figure) span() string {
	if f.Low == f.High {
		return ""
	}
	return f.digits(f.Low) + "–" + f.digits(f.High)
}

// digits writes one of the figure's values: a ratio needs a digit more.
func (f figure) digits(value float64) string {
	if strings.HasPrefix(f.Unit, "times") {
		return fmt.Sprintf("%.2f", value)
	}
	return fmt.Sprintf("%.1f", value)
}

func (f figure) aim() string {
	if f.AtMost == 0 {
		return ""
	}
	return aimed(fmt.Sprintf("≤ %g", f.AtMost), f.Reached)
}

func aimed(aim string, reached bool) string {
	if reached {
		return aim
	}
	return aim + ", missed"
}

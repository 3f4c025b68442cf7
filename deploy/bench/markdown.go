package main

import (
	"fmt"
	"os"
	"slices"
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
		write("| what | requests/s | baseline/s | ratio | lowest–highest | aim | p50 ms | p99 ms | baseline's p50, p99 |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	}
	for _, row := range r.Rows {
		write("%s", markdownRow(row.cells(), 5))
	}
	if len(r.Figures) > 0 {
		write("\n| what | measured | unit | lowest–highest | aim | from |\n|---|--:|---|--:|--:|---|\n")
	}
	for _, f := range r.Figures {
		write("%s", markdownRow(f.cells(), 4))
	}
	return b.String()
}

// markdownRow joins the cells of a line, with the outcome in that of the aim.
func markdownRow(cells []string, aim int) string {
	if cells[aim+1] == missed {
		cells[aim] += ", " + missed
	}
	return "| " + strings.Join(slices.Delete(cells, aim+1, aim+2), " | ") + " |\n"
}

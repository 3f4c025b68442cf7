package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// pgbench runs a script's statement over and over on so many connections, prepared
// once on each, and returns how often a second. The variables are the script's.
func (d *database) pgbench(ctx context.Context, file string, connections int, period time.Duration, variables map[string]int) (load, error) {
	args := []string{
		"-M", "prepared", "-n", "-f", file, "-c", strconv.Itoa(connections),
		"-j", strconv.Itoa(min(wrkThreads, connections)), "-T", wholeSeconds(period),
	}
	for name, value := range variables {
		args = append(args, "-D", name+"="+strconv.Itoa(value))
	}
	printed, err := harness.Output(exec.CommandContext(ctx, filepath.Join(d.Programs, "pgbench"), append(args, d.URL)...))
	if err != nil {
		return load{}, err
	}
	rate, err := readPgbench(string(printed))
	return load{perSecond: rate}, err
}

var (
	tpsLine    = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)
	failedLine = regexp.MustCompile(`(?m)^number of failed transactions: ([0-9]+)`) // PostgreSQL 15 and later
)

func readPgbench(printed string) (float64, error) {
	if m := failedLine.FindStringSubmatch(printed); m != nil && m[1] != "0" {
		return 0, fmt.Errorf("pgbench: %s transactions failed:\n%s", m[1], printed)
	}
	m := tpsLine.FindStringSubmatch(printed)
	if m == nil {
		return 0, fmt.Errorf("pgbench printed no rate:\n%s", printed)
	}
	return strconv.ParseFloat(m[1], 64)
}

// pgbenchLiteral quotes text for SQL in a pgbench script, where a colon would begin
// a variable even inside quotes.
func pgbenchLiteral(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`, `:`, `\x3a`, "\n", `\n`).Replace(text) + "'"
}

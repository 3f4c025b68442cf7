package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report is everything a run found. Rates are operations per second, latencies
// milliseconds.
type report struct {
	Machine machine  `json:"machine"`
	Rounds  int      `json:"rounds"`
	Seconds float64  `json:"seconds"`
	Rows    []result `json:"rows"`
	Figures []figure `json:"figures"`

	Taken time.Time `json:"taken"`
}

// machine says what the figures were taken on.
type machine struct {
	CPUs       int    `json:"cpus"`
	Platform   string `json:"platform"`
	Go         string `json:"go"`
	PostgreSQL string `json:"postgresql"`
	Load       string `json:"loadAverage,omitempty"` // of one minute, before the start; Linux only
}

// result is one row's figures: the medians over the rounds.
type result struct {
	Name        string  `json:"name"`
	What        string  `json:"what"`
	Ours        float64 `json:"ours"`
	Baseline    float64 `json:"baseline"`
	Ratio       float64 `json:"ratio"` // median of the rounds' ratios, not the ratio of the medians
	LowRatio    float64 `json:"lowRatio"`
	HighRatio   float64 `json:"highRatio"`
	Aim         float64 `json:"aim"`
	Reached     bool    `json:"reached"`
	P50         float64 `json:"p50Ms"`
	P99         float64 `json:"p99Ms"`
	BaseP50     float64 `json:"baselineP50Ms"` // 0 where it is not measured
	BaseP99     float64 `json:"baselineP99Ms"`
	Requests    int     `json:"requests"` // all rounds together
	Non2xx      int     `json:"non2xx"`   // always 0: a run with any other answer has no report
	RoundsTaken []round `json:"rounds"`
}

// round is one measurement of the baseline and, right after it, one of the gateway.
type round struct {
	Ours     float64 `json:"ours"`
	Baseline float64 `json:"baseline"`
	Ratio    float64 `json:"ratio"`
	P50      float64 `json:"p50Ms"`
	P99      float64 `json:"p99Ms"`
	BaseP50  float64 `json:"baselineP50Ms"`
	BaseP99  float64 `json:"baselineP99Ms"`
	Requests int     `json:"requests"`
}

func newRound(baseline, found load) round {
	return round{
		Ours: found.perSecond, Baseline: baseline.perSecond, Ratio: found.perSecond / baseline.perSecond,
		P50: milliseconds(found.p50), P99: milliseconds(found.p99),
		BaseP50: milliseconds(baseline.p50), BaseP99: milliseconds(baseline.p99), Requests: found.requests,
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// summarize fills in the medians from the rounds.
func (r *result) summarize() {
	of := func(figure func(round) float64) []float64 {
		all := make([]float64, len(r.RoundsTaken))
		for i, rd := range r.RoundsTaken {
			all[i] = figure(rd)
		}
		return all
	}
	ratios := of(func(rd round) float64 { return rd.Ratio })
	r.Ratio, r.LowRatio, r.HighRatio = medianOf(ratios), slices.Min(ratios), slices.Max(ratios)
	r.Ours = medianOf(of(func(rd round) float64 { return rd.Ours }))
	r.Baseline = medianOf(of(func(rd round) float64 { return rd.Baseline }))
	r.P50 = medianOf(of(func(rd round) float64 { return rd.P50 }))
	r.P99 = medianOf(of(func(rd round) float64 { return rd.P99 }))
	r.BaseP50 = medianOf(of(func(rd round) float64 { return rd.BaseP50 }))
	r.BaseP99 = medianOf(of(func(rd round) float64 { return rd.BaseP99 }))
	r.Reached = r.Ratio >= r.Aim
	for _, rd := range r.RoundsTaken {
		r.Requests += rd.Requests
	}
}

// medianOf returns the middle of at least one figure.
func medianOf(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// save writes the report as JSON.
func (r report) save(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// print writes the report as tables.
func (r report) print(w io.Writer) error {
	text := fmt.Sprintf("\n%s\nMedian of %d rounds of %g s each, baseline and gateway in turn.\n", r.Machine, r.Rounds, r.Seconds)
	if len(r.Rows) > 0 {
		text += "\n" + aligned(r.rowCells())
	}
	if len(r.Figures) > 0 {
		text += "\n" + aligned(r.figureCells())
	}
	_, err := io.WriteString(w, text)
	return err
}

func (r report) rowCells() [][]string {
	lines := [][]string{{"WHAT", "OURS/S", "BASELINE/S", "RATIO", "LOW–HIGH", "AIM", "", "P50 MS", "P99 MS", "BASELINE", "NON-2XX"}}
	for _, row := range r.Rows {
		lines = append(lines, append(row.cells(), strconv.Itoa(row.Non2xx)))
	}
	return lines
}

func (r report) figureCells() [][]string {
	lines := [][]string{{"WHAT", "MEASURED", "UNIT", "LOW–HIGH", "AIM", "", "FROM"}}
	for _, f := range r.Figures {
		lines = append(lines, f.cells())
	}
	return lines
}

// cells are the columns of a row that both kinds of tables have. What an aim is made of,
// the bound and the outcome, is in two of them.
func (r result) cells() []string {
	return []string{
		r.What, fmt.Sprintf("%.0f", r.Ours), fmt.Sprintf("%.0f", r.Baseline), fmt.Sprintf("%.2f", r.Ratio),
		fmt.Sprintf("%.2f–%.2f", r.LowRatio, r.HighRatio), fmt.Sprintf("≥ %.2f", r.Aim), outcome(r.Reached),
		fmt.Sprintf("%.2f", r.P50), fmt.Sprintf("%.2f", r.P99), r.baseLatency(),
	}
}

// baseLatency is the baseline's p50 and p99, where they are measured.
func (r result) baseLatency() string {
	if r.BaseP99 == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f, %.2f", r.BaseP50, r.BaseP99)
}

func (f figure) cells() []string {
	aim, reached := "", ""
	if f.AtMost > 0 {
		aim, reached = fmt.Sprintf("≤ %g", f.AtMost), outcome(f.Reached)
	}
	span := ""
	if f.Low != f.High {
		span = f.digits(f.Low) + "–" + f.digits(f.High)
	}
	return []string{f.What, f.digits(f.Value), f.Unit, span, aim, reached, f.Detail}
}

// digits writes one of the figure's values: a ratio needs a digit more.
func (f figure) digits(value float64) string {
	if strings.HasPrefix(f.Unit, "times") {
		return fmt.Sprintf("%.2f", value)
	}
	return fmt.Sprintf("%.1f", value)
}

func outcome(reached bool) string {
	if reached {
		return "ok"
	}
	return missed
}

const missed = "missed"

// aligned lays cells out in columns: the first to the left, the others, figures,
// to the right.
func aligned(lines [][]string) string {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		for i, cell := range line {
			gap := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if i == 0 {
				b.WriteString(cell + gap)
			} else {
				b.WriteString("  " + gap + cell)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (m machine) String() string {
	text := fmt.Sprintf("%d CPUs, %s, %s, PostgreSQL %s", m.CPUs, m.Platform, m.Go, m.PostgreSQL)
	if m.Load != "" {
		text += ", load average before the start " + m.Load
	}
	return text
}

func describeMachine() machine {
	m := machine{CPUs: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	return m
}

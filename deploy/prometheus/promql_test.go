package prometheus

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// selector is a metric in an expression, with the labels that choose among its series.
type selector struct {
	Metric string
	Labels []string
}

// expression is what these tests want to know of a PromQL expression.
type expression struct {
	Selectors []selector
	Grouping  []string // labels of by, without, on and the like
}

var tokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[0-9][0-9a-zA-Z.]*|[a-zA-Z_:][a-zA-Z0-9_:]*|=~|!~|!=|==|[{}(),=]|\S`)

// Words of the language that are no metric. Functions are told by the parenthesis.
var (
	operators  = []string{"and", "or", "unless", "bool", "offset", "atan2", "Inf", "NaN"}
	groupings  = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
	identifier = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
)

// parse reads metrics and labels off an expression. It is no judge of its grammar.
func parse(text string) expression {
	var e expression
	words := tokens.FindAllString(text, -1)
	next := func(i int) string {
		if i+1 < len(words) {
			return words[i+1]
		}
		return ""
	}
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "{" && len(e.Selectors) > 0:
			last := &e.Selectors[len(e.Selectors)-1]
			for ; i < len(words) && words[i] != "}"; i++ {
				if identifier.MatchString(words[i]) {
					last.Labels = append(last.Labels, words[i])
				}
			}
		case slices.Contains(groupings, w):
			for i++; i < len(words) && words[i] != ")"; i++ {
				if identifier.MatchString(words[i]) {
					e.Grouping = append(e.Grouping, words[i])
				}
			}
		case !identifier.MatchString(w), slices.Contains(operators, w), next(i) == "(", slices.Contains(groupings, next(i)):
		default:
			e.Selectors = append(e.Selectors, selector{Metric: w})
		}
	}
	return e
}

func TestExpressionsAreRead(t *testing.T) {
	for text, want := range map[string]expression{
		`up == 0`: {[]selector{{"up", nil}}, nil},
		`sum by (job, le) (rate(a_total{status=~"5..", x!="b_total{"}[5m])) / b > 0.01`: {
			[]selector{{"a_total", []string{"status", "x"}}, {"b", nil}}, []string{"job", "le"},
		},
		`sum(rate(a[$__rate_interval])) by (x) and on (y) min_over_time(c{}[1m] offset 5m)`: {
			[]selector{{"a", nil}, {"c", nil}}, []string{"x", "y"},
		},
		`histogram_quantile(0.99, a_bucket)`: {[]selector{{"a_bucket", nil}}, nil},
		`1 - avg(a)`:                         {[]selector{{"a", nil}}, nil},
	} {
		if diff := cmp.Diff(want, parse(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// given are the labels that Prometheus itself adds to every series, and the series
// that it makes for each target.
var given = []string{"job", "instance"}

const targetUp = "up"

// wrong says what an expression asks for that does not exist.
func (m metrics) wrong(text string) []string {
	var found []string
	labels := slices.Clone(given)
	e := parse(text)
	if len(e.Selectors) == 0 {
		found = append(found, "names no metric")
	}
	for _, s := range e.Selectors {
		own, ok := m.labelsOf(s.Metric)
		if !ok {
			found = append(found, fmt.Sprintf("there is no metric %s", s.Metric))
			continue
		}
		labels = append(labels, own...)
		for _, label := range s.Labels {
			if !slices.Contains(own, label) && !slices.Contains(given, label) {
				found = append(found, fmt.Sprintf("%s has no label %s", s.Metric, label))
			}
		}
	}
	for _, label := range e.Grouping {
		if !slices.Contains(labels, label) {
			found = append(found, fmt.Sprintf("no metric has the label %s", label))
		}
	}
	return found
}

func TestWhatDoesNotExistIsFound(t *testing.T) {
	m := gathered(t)
	for text, want := range map[string]string{
		`up{job="a"} == 0`:                                          "",
		`sluice_http_requests_total`:                                "",
		`sluice_http_requests_totals`:                               "there is no metric sluice_http_requests_totals",
		`sluice_http_requests_total{state=""}`:                      "sluice_http_requests_total has no label state",
		`sum by (pool) (sluice_queue_depth)`:                        "no metric has the label pool",
		`sum by (le) (sluice_http_request_duration_seconds_bucket)`: "",
		`sluice_http_request_duration_seconds_count{le="1"}`:        "sluice_http_request_duration_seconds_count has no label le",
		`sluice_http_request_duration_seconds`:                      "there is no metric sluice_http_request_duration_seconds",
		`sluice_queue_depth_count`:                                  "there is no metric sluice_queue_depth_count",
		`1 + 1`:                                                     "names no metric",
	} {
		if got := strings.Join(m.wrong(text), "; "); got != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}

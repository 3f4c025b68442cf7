package prometheus

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/oasdiff/yaml"
	dto "github.com/prometheus/client_model/go"

	"github.com/sluicehq/sluice/adapters/telemetry/telemetrytest"
)

// metrics are the families that the gateway shows, by name.
type metrics map[string]*dto.MetricFamily

func gathered(t *testing.T) metrics {
	t.Helper()
	return telemetrytest.Families(t)
}

// parts of a histogram are series of their own.
var histogramPart = regexp.MustCompile(`^(.*)_(bucket|sum|count)$`)

// labelsOf lists the labels of a series, by the name that expressions use.
func (m metrics) labelsOf(name string) (labels []string, ok bool) {
	if name == targetUp {
		return nil, true
	}
	family, ok := m[name]
	parts := histogramPart.FindStringSubmatch(name)
	switch {
	case ok && family.GetType() == dto.MetricType_HISTOGRAM:
		return nil, false // only its parts are series
	case !ok && parts != nil && m[parts[1]] != nil && m[parts[1]].GetType() == dto.MetricType_HISTOGRAM:
		family = m[parts[1]]
		if parts[2] == "bucket" {
			labels = append(labels, "le")
		}
	case !ok:
		return nil, false
	}
	for _, pair := range family.GetMetric()[0].GetLabel() {
		labels = append(labels, pair.GetName())
	}
	return labels, true
}

// own lists the names of the gateway's own families, in order.
func (m metrics) own() []string {
	all := slices.Sorted(maps.Keys(m))
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, "sluice_") })
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

// headings are those of a text in Markdown, as links name them.
func headings(text string) (names []string) {
	for _, found := range regexp.MustCompile("(?m)^## (.*)$").FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(regexp.MustCompile(`[^\w -]`).ReplaceAllString(found[1], ""))
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

var linkWithin = regexp.MustCompile(`\]\((README\.md|day-two\.md)?#([\w-]+)\)`)

func TestLinksBetweenThePagesOfTheHandbookLeadSomewhere(t *testing.T) {
	pages := map[string]string{"README.md": string(read(t, "..", "README.md")), "day-two.md": string(read(t, "..", "day-two.md"))}
	for page, text := range pages {
		links := linkWithin.FindAllStringSubmatch(text, -1)
		if len(links) < 10 {
			t.Errorf("%s has %d links", page, len(links))
		}
		for _, link := range links {
			if !slices.Contains(headings(pages[cmp.Or(link[1], page)]), link[2]) {
				t.Errorf("%s links to %s#%s, which there is not", page, link[1], link[2])
			}
		}
	}
}

var labelInText = regexp.MustCompile(`\$labels\.(\w+)`)

func TestAlertsAskForMetricsThatExistAndSayWhatToDo(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	if _, err := yaml.Unmarshal(read(t, "alerts.yml"), &file, yaml.DecodeOpts{}); err != nil {
		t.Fatal(err)
	}
	m := gathered(t)
	places := headings(string(read(t, "..", "day-two.md")))
	seen := make(map[string]bool)
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			for _, problem := range m.wrong(r.Expr) {
				t.Errorf("%s: %s", r.Alert, problem)
			}
			if wait, err := time.ParseDuration(r.For); err != nil || wait <= 0 {
				t.Errorf("%s: for is %q", r.Alert, r.For)
			}
			if !slices.Contains([]string{"page", "ticket"}, r.Labels["severity"]) {
				t.Errorf("%s: the severity is %q", r.Alert, r.Labels["severity"])
			}
			for _, text := range []string{r.Annotations["summary"], r.Annotations["description"]} {
				if text == "" {
					t.Errorf("%s says too little", r.Alert)
				}
				for _, found := range labelInText.FindAllStringSubmatch(text, -1) {
					if !m.carries(r.Expr, found[1]) {
						t.Errorf("%s shows the label %s, which its series do not have", r.Alert, found[1])
					}
				}
			}
			if place, ok := strings.CutPrefix(r.Annotations["runbook_url"], "https://github.com/sluicehq/sluice/blob/main/deploy/day-two.md#"); !ok || !slices.Contains(places, place) {
				t.Errorf("%s links to %q, where nothing says what to do", r.Alert, r.Annotations["runbook_url"])
			}
			if !strings.HasPrefix(r.Alert, "Sluice") || seen[r.Alert] {
				t.Errorf("the name %q is taken, or does not begin with Sluice", r.Alert)
			}
			seen[r.Alert] = true
		}
	}
	if len(seen) == 0 {
		t.Error("there are no alerts")
	}
}

// carries says whether the result of an expression has a label: one that it groups
// by, or else one of its metric.
func (m metrics) carries(text, label string) bool {
	e := parse(text)
	if len(e.Grouping) > 0 {
		return slices.Contains(e.Grouping, label)
	}
	for _, s := range e.Selectors {
		if own, _ := m.labelsOf(s.Metric); slices.Contains(own, label) {
			return true
		}
	}
	return slices.Contains(given, label)
}

// board is what these tests look at of a Grafana dashboard.
type board struct {
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct {
			Name  string
			Query json.RawMessage
		}
	}
}

var (
	labelValues   = regexp.MustCompile(`label_values\((.*), (\w+)\)`)
	labelInLegend = regexp.MustCompile(`\{\{(\w+)\}\}`)
	variable      = regexp.MustCompile(`\$\{?(\w+)`)
)

func TestTheBoardShowsTheMetricsThatExistAndAllOfThem(t *testing.T) {
	text := read(t, "..", "grafana", "sluice.json")
	var b board
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	m := gathered(t)
	shown := make(map[string]bool)
	ids := make(map[int]bool)
	for _, p := range b.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.Title == "" {
			t.Errorf("the panel %q has the id or the place of another, or none", p.Title)
		}
		ids[p.ID] = true
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, problem := range m.wrong(target.Expr) {
				t.Errorf("the panel %q: %s", p.Title, problem)
			}
			for _, found := range labelInLegend.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !m.carries(target.Expr, found[1]) {
					t.Errorf("the panel %q shows the label %s, which its series do not have", p.Title, found[1])
				}
			}
			for _, s := range parse(target.Expr).Selectors {
				shown[s.Metric] = true
				if parts := histogramPart.FindStringSubmatch(s.Metric); parts != nil {
					shown[parts[1]] = true
				}
				if !slices.Contains(s.Labels, "job") || !slices.Contains(s.Labels, "instance") {
					t.Errorf("the panel %q shows %s of instances that were not chosen", p.Title, s.Metric)
				}
			}
		}
	}
	for _, name := range m.own() {
		if !shown[name] {
			t.Errorf("%s is on no panel", name)
		}
	}
	known := []string{"__rate_interval", "__all"}
	for _, v := range b.Templating.List {
		known = append(known, v.Name)
		if query := labelValues.FindStringSubmatch(strings.ReplaceAll(string(v.Query), `\"`, `"`)); query != nil {
			for _, problem := range m.wrong(query[1]) {
				t.Errorf("the variable %s: %s", v.Name, problem)
			}
		}
	}
	for _, found := range variable.FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(known, found[1]) {
			t.Errorf("the board uses the variable %s, which it does not have", found[1])
		}
	}
}

var tableRow = regexp.MustCompile("(?m)^\\| `(sluice_\\w+)` \\|")

func TestTheManualListsTheMetricsThatExist(t *testing.T) {
	var listed []string
	for _, found := range tableRow.FindAllStringSubmatch(string(read(t, "..", "..", "README.md")), -1) {
		listed = append(listed, found[1])
	}
	slices.Sort(listed)
	if diff := gocmp.Diff(gathered(t).own(), listed); diff != "" {
		t.Errorf("README.md (-exists, +listed): %s", diff)
	}
}

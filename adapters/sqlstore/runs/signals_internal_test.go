package runs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
)

func TestANoticeNamesRunsWhileTheyFit(t *testing.T) {
	const origin = "ORIGIN"
	fits := make([]run.ID, (core.MaxNotice-len(origin))/11)
	for i := range fits {
		fits[i] = run.ID(fmt.Sprintf("run_%06d", i))
	}
	left := core.MaxNotice - len(origin) - 11*len(fits)
	fits[0] += run.ID(strings.Repeat("x", left))
	for claim, c := range map[string]struct {
		changed []run.ID
		lost    bool
		want    []run.ID
	}{
		"one":                          {[]run.ID{"run_1"}, false, []run.ID{"run_1"}},
		"two, in order":                {[]run.ID{"run_2", "run_1"}, false, []run.ID{"run_2", "run_1"}},
		"as many as fit to the byte":   {fits, false, fits},
		"one byte more":                {append([]run.ID{"x" + fits[0]}, fits[1:]...), false, nil},
		"some, but others were lost":   {[]run.ID{"run_1"}, true, nil},
		"none, since others were lost": {nil, true, nil},
	} {
		t.Run(claim, func(t *testing.T) {
			text := notice(origin, c.changed, c.lost)
			from, words, _ := strings.Cut(text, " ")
			if diff := cmp.Diff(c.want, runsNamed(words)); diff != "" || from != origin || len(text) > core.MaxNotice {
				t.Errorf("%s, %d bytes: %s", from, len(text), diff)
			}
		})
	}
}

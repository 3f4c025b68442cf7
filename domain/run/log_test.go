package run_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
)

func TestNewLog(t *testing.T) {
	many := strings.Split(strings.Repeat("x\n", run.MaxLogLines)+"one too many", "\n")
	for name, c := range map[string]struct{ lines, want []string }{
		"nothing was written":                         {nil, nil},
		"lines are kept":                              {[]string{"one", "", "two\twords\nhere"}, []string{"one", "", "two\twords\nhere"}},
		"no store keeps a NUL":                        {[]string{"a\x00b", "\xff"}, []string{"a\ufffdb", "\ufffd"}},
		"a hundred lines are kept":                    {many[:run.MaxLogLines], many[:run.MaxLogLines]},
		"and the last one tells that there were more": {many, append(append([]string{}, many[:run.MaxLogLines-1]...), "x…")},
		"a long line is cut": {
			[]string{"one", strings.Repeat("a", run.MaxLogBytes), "two"}, []string{"one", strings.Repeat("a", run.MaxLogBytes-3-3) + "…"},
		},
		"between two characters": {
			[]string{strings.Repeat("é", run.MaxLogBytes)}, []string{strings.Repeat("é", (run.MaxLogBytes-3)/2) + "…"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run.NewLog(c.lines)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			all := strings.Join(got, "")
			if len(all) > run.MaxLogBytes+len("…") || !utf8.ValidString(all) {
				t.Errorf("%d bytes are kept", len(all))
			}
			if diff := cmp.Diff(got, run.NewLog(got)); diff != "" {
				t.Errorf("a log is not kept as it is: %s", diff)
			}
		})
	}
}

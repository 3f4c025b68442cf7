package exchange

import (
	"strings"
	"testing"
)

func TestTheFirstPreferenceAboutHandlingCounts(t *testing.T) {
	for sent, want := range map[string]bool{
		"":                                                  false,
		"handling=strict":                                   true,
		"Handling = Strict":                                 true,
		`handling="strict"`:                                 true,
		`handling="str\ict"`:                                true,
		`handling="\"strict\""`:                             false,
		"handling=lenient":                                  false,
		"handling":                                          false,
		"handling=":                                         false,
		"handlings=strict":                                  false,
		"handling=strict, handling=lenient":                 true,
		"handling=lenient, handling=strict":                 false,
		"handling=lenient\nhandling=strict":                 false,
		"respond-async, wait=10\nhandling=strict":           true,
		" , ,handling=strict;foo=bar; baz":                  true,
		`handling=strict; note="a, handling=lenient"`:       true,
		`note="a, handling=strict"`:                         false,
		`note="a, handling=strict, b", handling=lenient`:    false,
		`note="say \", handling=strict"`:                    false,
		`note="say \"", handling=strict`:                    true,
		`note=a; more="; handling=strict, handling=strict"`: false,
		`note="a;b";c="d,e", handling=strict`:               true,
		`note="\\", handling=strict`:                        true,
		`note="never ends, handling=strict`:                 false,
	} {
		var headers []string
		if sent != "" {
			headers = strings.Split(sent, "\n")
		}
		if got := prefersStrict(headers); got != want {
			t.Errorf("%q prefers strict handling: %v", sent, got)
		}
	}
}

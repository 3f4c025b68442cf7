package main

import (
	"os"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/fixture"
)

// engineEnviron has the runs of a gateway begin with the engine that the tests are to be run with, if it is not
// the table: with a task queue of their own at the server, or with an engine within each process in a build with the tag relay.
func engineEnviron() []string {
	name := os.Getenv(fixture.EngineVariable)
	if name == "" {
		return nil
	}
	address := "relay:1"
	if name != fixture.RelayEngine {
		address = os.Getenv(fixture.TemporalVariable)
	}
	return []string{"SLUICE_ENGINE=temporal", "SLUICE_TEMPORAL_ADDRESS=" + address, "SLUICE_TEMPORAL_TASK_QUEUE=" + system.Random{}.ID("queue")}
}

func TestMistakesInTheSettingsOfTheEngineAreNamed(t *testing.T) {
	t.Parallel()
	fixture.TableOnly(t, "it leaves out settings that are made for the tests then")
	secret := "hunter2"
	cases := []struct{ environ, want string }{
		{"SLUICE_ENGINE=redis", "SLUICE_ENGINE must be table or temporal"},
		{"SLUICE_ENGINE=temporal", "SLUICE_TEMPORAL_ADDRESS must be set with SLUICE_ENGINE=temporal"},
		{"SLUICE_TEMPORAL_ADDRESS=temporal.internal", "SLUICE_TEMPORAL_ADDRESS must be a host and a port"},
		{"SLUICE_TEMPORAL_ADDRESS=a:1 SLUICE_TEMPORAL_TLS_KEY=" + secret, "SLUICE_TEMPORAL_TLS_CERT and SLUICE_TEMPORAL_TLS_KEY go together"},
	}
	if hasTemporal {
		cases = append(cases, struct{ environ, want string }{"SLUICE_TEMPORAL_ADDRESS=a:1 SLUICE_TEMPORAL_TLS_CERT=c SLUICE_TEMPORAL_TLS_KEY=" + secret, "SLUICE_TEMPORAL_TLS_CERT and what belongs to it: the certificate and its key"})
	} else {
		cases = append(cases, struct{ environ, want string }{"SLUICE_TEMPORAL_ADDRESS=a:1", "SLUICE_TEMPORAL_ADDRESS needs a binary that was built with the tag temporal"})
	}
	for _, c := range cases {
		b := newBinary(t, sqliteURL(t))
		b.environ = append(b.environ, strings.Fields(c.environ)...)
		if code, _, stderr := b.run("serve"); code != exitUsage || !strings.Contains(stderr, c.want) || strings.Contains(stderr, secret) {
			t.Errorf("%s: %d, %s", c.environ, code, stderr)
		}
	}
}

package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMistakesAreNamedByTheirOptions(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	b.ok("migrate", "up")
	id := b.json("tenant", "create", "--name", "a")["tenantId"].(string)
	key := b.json("key", "create", "--tenant", id)["id"].(string)
	for claim, c := range map[string]struct {
		args []string
		want string
	}{
		"a tenant without a name": {[]string{"tenant", "create"}, "The tenant is not valid.\n  --name must not be empty\n"},
		"every limit of a tenant": {
			[]string{"tenant", "update", id, "--language", "xx", "--run-retention-days", "0", "--public-per-minute", "0", "--public-concurrent", "0", "--secret-per-minute", "0", "--secret-concurrent", "0"},
			"The tenant is not valid.\n  --language must be one of \"en\", \"pt-BR\" or \"es\", not \"xx\"\n" +
				"  --public-per-minute must be at least 1, not 0\n  --public-concurrent must be at least 1, not 0\n" +
				"  --secret-per-minute must be at least 1, not 0\n  --secret-concurrent must be at least 1, not 0\n" +
				"  --run-retention-days must be at least 1, not 0\n",
		},
		"every budget of a tenant": {
			[]string{"tenant", "update", id, "--runs-per-month", "0", "--live-runs", "-1", "--bytes-kept", "0"},
			"The tenant is not valid.\n  --runs-per-month must be at least 1, not 0\n  --live-runs must be at least 1, not -1\n  --bytes-kept must be at least 1, not 0\n",
		},
		"a budget that is no number": {
			[]string{"tenant", "update", id, "--runs-per-month", "many"},
			"wrong usage: invalid argument \"many\" for \"--runs-per-month\" flag: must be a whole number, or none\n\nHelp: sluice --help\n",
		},
		"a page": {[]string{"tenant", "list", "--limit", "500", "--offset", "-1"},
			"wrong usage: The list parameters are not valid.\n  --limit must be at most 100, not 500\n  --offset must be at least 0, not -1\n\nHelp: sluice --help\n"},
		"a key's type": {[]string{"key", "create", "--tenant", id, "--type", "x"}, "The API key is not valid.\n  --type must be \"public\" or \"secret\", not \"x\"\n"},
		"a key's end":  {[]string{"key", "create", "--tenant", id, "--valid-for", "1ns"}, "The API key is not valid.\n  --valid-for must be in the future\n"},
		"a time that is too long": {[]string{"key", "rotate", key, "--tenant", id, "--grace", "48h"},
			"wrong usage: --grace must be from 0s to 24h0m0s, not 48h0m0s\n\nHelp: sluice --help\n"},
	} {
		code, stdout, stderr := b.run(c.args...)
		if diff := cmp.Diff("sluice: "+c.want, stderr); diff != "" || code != exitUsage || stdout != "" {
			t.Errorf("%s: %d, %q\n%s", claim, code, stdout, diff)
		}
	}
}

func TestWhatIsDoneIsToldAsJSON(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	type migration struct {
		Version   int64
		AppliedAt string
	}
	var applied, again []migration
	for _, into := range []*[]migration{&applied, &again} {
		if err := json.Unmarshal([]byte(b.ok("migrate", "up", "--json")), into); err != nil {
			t.Fatal(err)
		}
	}
	if len(applied) == 0 || applied[0].Version != 26 || applied[0].AppliedAt == "" || again == nil || len(again) != 0 {
		t.Errorf("applied %+v, then %+v", applied, again)
	}
	id := b.json("tenant", "create", "--name", "a")["tenantId"].(string)
	if diff := cmp.Diff(map[string]any{"tenantId": id, "deleted": true}, b.json("tenant", "delete", id, "--yes")); diff != "" {
		t.Error(diff)
	}
}

func TestAWorkerSaysThatItIsNotTheAPI(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	worker := newBinary(t, postgresURL(t)).start("serve", "--role", "worker")
	status, body := worker.request(t, http.MethodGet, "/v1/gateway/runs", "", "")
	want := `"message":"There is no /v1/gateway/runs: this process answers /healthz and /readyz only, and works for those that serve the API."`
	if status != http.StatusNotFound || !strings.Contains(body, want) || !strings.Contains(body, `"code":"route_not_found"`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestMistakesInTheBoundsOfConnectionsAreNamed(t *testing.T) {
	skipUnderRace(t)
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_MAX_CONNECTIONS=0", "SLUICE_HEADER_TIMEOUT=0s", "SLUICE_BODY_TIMEOUT=-1s",
		"SLUICE_ANSWER_TIMEOUT=0s", "SLUICE_IDLE_TIMEOUT=0s", "SLUICE_DRAIN_DELAY=-1s")
	code, _, stderr := b.run("serve")
	for _, name := range []string{"MAX_CONNECTIONS must be", "HEADER_TIMEOUT must", "BODY_TIMEOUT must", "ANSWER_TIMEOUT must", "IDLE_TIMEOUT must", "DRAIN_DELAY must"} {
		if code != exitUsage || !strings.Contains(stderr, "SLUICE_"+name) {
			t.Errorf("SLUICE_%s… is not said: %d, %s", name, code, stderr)
		}
	}
}

func TestANewDatabaseIsOneLineOfTheLog(t *testing.T) {
	skipUnderRace(t)
	b := newBinary(t, sqliteURL(t))
	for start, want := range []int{1, 0} {
		s := b.start("serve")
		s.stop()
		if n := strings.Count(s.stderr.String(), "migration"); n != want {
			t.Errorf("start %d logs %d lines about migrations: %s", start+1, n, s.stderr)
		}
	}
}

package browser

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/harness"
)

// What sluice dev prints.
var (
	printedLink = regexp.MustCompile(`http://\S+/console/l/\S+`)
	printedKey  = regexp.MustCompile(`sk_\w+`)
)

// looks are colour schemes and widths in which pages are examined.
var looks = [][2]string{{"light", "wide"}, {"dark", "wide"}, {"light", "narrow"}, {"dark", "narrow"}}

// TestTheConsoleInABrowser tells the stories of stories/ against the real binary. SLUICE_PICTURES is a folder for pictures of all pages,
// SLUICE_STORY the part of a name that one story has.
func TestTheConsoleInABrowser(t *testing.T) {
	executable := findBrowser(t)
	dir := t.TempDir()
	binary, err := harness.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("SQLite", func(t *testing.T) {
		tellStories(t, binary, "sqlite:"+dir+"/a.db", map[string]any{"executable": executable, "pictures": os.Getenv("SLUICE_PICTURES"), "looks": looks})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		server, err := harness.StartPostgres(t.Context(), pgtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Stop)
		database, err := server.CreateDatabase(t.Context(), "console")
		if err != nil {
			t.Fatal(err)
		}
		tellStories(t, binary, database, map[string]any{"executable": executable, "looks": looks[:1]})
	})
}

// tellStories starts a gateway as a newcomer does, and has a browser tell all stories.
func tellStories(t *testing.T, binary, database string, input map[string]any) {
	t.Helper()
	g, err := harness.NewGateway("console", binary, database, t.TempDir(), "SLUICE_EGRESS_ALLOW=127.0.0.0/8") // stories have receivers of their own
	if err != nil {
		t.Fatal(err)
	}
	g.Subcommand = "dev"
	if err := g.StartReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	printed, err := os.ReadFile(g.Log)
	if err != nil {
		t.Fatal(err)
	}
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Stop()
		if err := g.StartReady(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(control.Close)
	for name, value := range map[string]any{
		"url": g.URL, "link": string(printedLink.Find(printed)), "key": string(printedKey.Find(printed)), "control": control.URL, "only": os.Getenv("SLUICE_STORY"),
	} {
		input[name] = value
	}
	given, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "console.mjs")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(given), &stderr
	out, err := cmd.Output()
	if err != nil {
		log, _ := os.ReadFile(g.Log)
		t.Fatalf("%v: %s\n%s", err, stderr.String(), log[max(0, len(log)-2000):])
	}
	var told struct {
		Findings map[string][]string
		Measured map[string]any
	}
	if err := json.Unmarshal(out, &told); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	stories, err := filepath.Glob("stories/*.mjs")
	if err != nil || len(told.Findings) < len(stories) && os.Getenv("SLUICE_STORY") == "" {
		t.Errorf("%d of %d stories were told: %v", len(told.Findings), len(stories), err)
	}
	for story, found := range told.Findings {
		for _, what := range found {
			t.Errorf("%s: %s", story, what)
		}
	}
	for what, value := range told.Measured {
		t.Logf("%s: %v", what, value)
	}
}

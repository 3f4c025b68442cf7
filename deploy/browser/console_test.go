package browser

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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
// SLUICE_SEQUENCES one for what each story showed, picture by picture, and SLUICE_STORY the part of a name that one story has. Pictures of stories that failed are in bin/e2e.
func TestTheConsoleInABrowser(t *testing.T) {
	executable := findBrowser(t)
	dir := t.TempDir()
	binary, err := harness.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	t.Run("SQLite", func(t *testing.T) {
		failed = append(failed, tellStories(t, binary, "sqlite:"+dir+"/a.db", map[string]any{"executable": executable, "pictures": os.Getenv("SLUICE_PICTURES"), "sequences": os.Getenv("SLUICE_SEQUENCES"), "looks": looks})...)
	})
	t.Run("PostgreSQL", func(t *testing.T) { // the pages are the same, and have been examined, and what is of the browser alone was told
		server, err := harness.StartPostgres(t.Context(), pgtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Stop)
		database, err := server.CreateDatabase(t.Context(), "console")
		if err != nil {
			t.Fatal(err)
		}
		failed = append(failed, tellStories(t, binary, database, map[string]any{"executable": executable, "looks": [][2]string{}, "again": true})...)
	})
	for _, finding := range failed { // at the end, which is what is read of a long output
		t.Error(finding)
	}
}

// tellStories starts a gateway as a newcomer does, and has a browser tell all stories. It returns what went wrong, with the story and where in it.
func tellStories(t *testing.T, binary, database string, input map[string]any) (failed []string) {
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
	failures, err := filepath.Abs(filepath.Join("../../bin/e2e", filepath.Base(t.Name())))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(failures); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{
		"url": g.URL, "link": string(printedLink.Find(printed)), "key": string(printedKey.Find(printed)), "control": newControl(t, g).URL,
		"failures": failures, "only": os.Getenv("SLUICE_STORY"),
	} {
		input[name] = value
	}
	given, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "console.mjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(given), t.Output() // says story by story how it goes
	out, err := cmd.Output()
	if err != nil {
		log, _ := os.ReadFile(g.Log)
		t.Fatalf("%v\n%s", err, log[max(0, len(log)-2000):])
	}
	var told struct {
		Findings map[string][]string
		Lines    []string
	}
	if err := json.Unmarshal(out, &told); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	stories, err := filepath.Glob("stories/*.mjs")
	if err != nil || len(told.Findings) < len(stories) && os.Getenv("SLUICE_STORY") == "" {
		t.Errorf("%d of %d stories were told: %v", len(told.Findings), len(stories), err)
	}
	t.Logf("figures:\n%s", strings.Join(told.Lines, "\n"))
	for _, story := range slices.Sorted(maps.Keys(told.Findings)) {
		for _, what := range told.Findings[story] {
			failed = append(failed, filepath.Base(t.Name())+", "+story+": "+what)
		}
	}
	return failed
}

// newControl restarts the gateway and runs operator's commands for stories.
func newControl(t *testing.T, g *harness.Gateway) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /restart", func(w http.ResponseWriter, r *http.Request) {
		g.Stop()
		if err := g.StartReady(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /command", func(w http.ResponseWriter, r *http.Request) {
		var args []string
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		printed, err := g.Command(r.Context(), args...)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(printed)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

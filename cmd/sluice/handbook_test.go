package main

import (
	"encoding/base64"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oasdiff/yaml"
)

var updateHandbook = flag.Bool("update-handbook", false, "write the table of settings into the operator's handbook")

// The lines of the handbook between which the table of settings stands.
const (
	beginSettings = "<!-- settings: begin -->\n"
	endSettings   = "<!-- settings: end -->"
)

func TestTheHandbookListsEverySettingAsHelpDoes(t *testing.T) {
	file := filepath.Join("..", "..", "deploy", "README.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), beginSettings)
	table, after, ended := strings.Cut(rest, endSettings)
	if !found || !ended {
		t.Fatalf("%s has no place for the settings", file)
	}
	want := settingsTable()
	if *updateHandbook {
		if err := os.WriteFile(file, []byte(before+beginSettings+want+endSettings+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("the handbook differs from sluice --help (update it with: go test ./cmd/sluice -run Handbook -update-handbook):\n%s", diff)
	}
}

// settingsTable is what sluice --help says of the settings, as a table in Markdown.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| variable | default | meaning |\n|---|---|---|\n")
	for _, s := range settings() {
		fallback := s.fallback
		if fallback != "" {
			fallback = "`" + fallback + "`"
		}
		b.WriteString("| `" + s.name + "` | " + fallback + " | " + strings.NewReplacer("|", `\|`, "<", `\<`).Replace(s.help) + " |\n")
	}
	return b.String()
}

// composed is what these tests read of a Compose file.
type composed struct {
	Services map[string]*composedService
	Secrets  map[string]struct{ File string }
	Volumes  map[string]any
}

type composedService struct {
	Build       struct{ Args map[string]string }
	Environment map[string]string
	Secrets     []string
	Volumes     []string
	DependsOn   map[string]struct{ Condition string } `json:"depends_on"`
	Deploy      struct {
		Resources struct{ Limits map[string]any }
	}
	Healthcheck struct {
		Test    []string
		Disable bool
	}
}

// readComposed reads files as Compose does that is given one after the other: a later one adds to what services of the earlier have.
func readComposed(t *testing.T, names ...string) composed {
	t.Helper()
	all := composed{Services: map[string]*composedService{}, Secrets: map[string]struct{ File string }{}, Volumes: map[string]any{}}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		var file composed
		if _, err := yaml.Unmarshal(text, &file, yaml.DecodeOpts{}); err != nil {
			t.Fatal(err)
		}
		for name, s := range file.Services {
			first, found := all.Services[name]
			if !found {
				all.Services[name] = s
				continue
			}
			maps.Copy(first.Environment, s.Environment)
			maps.Copy(first.Build.Args, s.Build.Args)
			maps.Copy(first.DependsOn, s.DependsOn)
			first.Secrets = append(first.Secrets, s.Secrets...)
		}
		maps.Copy(all.Secrets, file.Secrets)
		maps.Copy(all.Volumes, file.Volumes)
	}
	return all
}

func TestTheComposeFilesSetWhatTheGatewayKnows(t *testing.T) {
	for name, files := range map[string][]string{"the table": {"compose.yaml"}, "Temporal": {"compose.yaml", "compose.temporal.yaml"}} {
		t.Run(name, func(t *testing.T) { composesWhatIsKnown(t, readComposed(t, files...)) })
	}
}

func composesWhatIsKnown(t *testing.T, file composed) {
	t.Helper()
	gateway, ok := file.Services["gateway"]
	if !ok {
		t.Fatal("there is no service gateway")
	}
	environ := make([]string, 0, len(gateway.Environment))
	for name, value := range gateway.Environment {
		// A secret is a file below /run/secrets; here it is one of the test's.
		if secret, found := strings.CutPrefix(value, "/run/secrets/"); found {
			if !slices.Contains(gateway.Secrets, secret) || file.Secrets[secret].File == "" {
				t.Errorf("%s names the secret %s, which the service is not given", name, secret)
			}
			value = filepath.Join(t.TempDir(), secret)
			content := "postgres://sluice:x@postgres:5432/sluice?sslmode=disable"
			if secret == "encryption_key" {
				content = base64.StdEncoding.EncodeToString(make([]byte, 32))
			}
			if err := os.WriteFile(value, []byte(content+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		environ = append(environ, name+"="+value)
	}
	_, err := readConfig(environ)
	// The image that the file has built has Temporal's client, and this binary may have none.
	needsTemporal := gateway.Environment["SLUICE_TEMPORAL_ADDRESS"] != "" && !hasTemporal
	if err != nil && (!needsTemporal || strings.Count(err.Error(), "SLUICE_") != 1 || !strings.Contains(err.Error(), "built with the tag temporal")) {
		t.Errorf("the gateway refuses its environment: %v", err)
	}
	if unknown := unknownSettings(environ); len(unknown) > 0 {
		t.Errorf("the gateway does not know %v", unknown)
	}
	for name, s := range file.Services {
		if problem := s.problem(file); problem != "" && (problem != noHealthCheck || name != "gateway") { // whose image has one
			t.Errorf("the service %s %s", name, problem)
		}
	}
}

const noHealthCheck = "has no health check"

// problem says what is wrong with a service of a file; empty for nothing.
func (s *composedService) problem(file composed) string {
	for variable, value := range s.Environment {
		if regexp.MustCompile(`(?i)password|pwd|secret|token`).MatchString(variable) && !strings.HasSuffix(variable, "_FILE") {
			return "holds a secret in the open: " + variable + "=" + value
		}
	}
	for _, secret := range s.Secrets {
		if file.Secrets[secret].File == "" {
			return "has the secret " + secret + ", which is nowhere"
		}
	}
	for _, volume := range s.Volumes {
		name, _, _ := strings.Cut(volume, ":")
		if _, found := file.Volumes[name]; !found {
			return "has the volume " + name + ", which is nowhere"
		}
	}
	for other, on := range s.DependsOn {
		if file.Services[other] == nil || on.Condition != "service_healthy" {
			return "does not wait until " + other + " is healthy, or there is none"
		}
	}
	switch {
	case len(s.Deploy.Resources.Limits) == 0:
		return "has no limits"
	case len(s.Healthcheck.Test) == 0:
		return noHealthCheck
	}
	return ""
}

func TestComposeBringsTheNamespaceAndTheClientOfTemporal(t *testing.T) {
	file := readComposed(t, "compose.yaml", "compose.temporal.yaml")
	gateway, temporal := file.Services["gateway"], file.Services["temporal"]
	space := gateway.Environment["SLUICE_TEMPORAL_NAMESPACE"]
	if temporal.Environment["DEFAULT_NAMESPACE"] != space || !slices.Contains(temporal.Healthcheck.Test, space) || gateway.DependsOn["temporal"].Condition == "" {
		t.Errorf("the gateway waits for another namespace than %q, or for none", space)
	}
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	released := regexp.MustCompile(`(?m)^TAGS +:= (\S+)$`).FindSubmatch(makefile)
	if released == nil || gateway.Build.Args["TAGS"] != string(released[1])+",temporal" {
		t.Errorf("the gateway is built with %q, and a release with %q", gateway.Build.Args["TAGS"], released)
	}
}

func TestTheImageSetsWhatTheGatewayKnows(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	environ := regexp.MustCompile(`SLUICE_\w+=\S+`).FindAllString(string(text), -1)
	if _, err := readConfig(environ); err != nil || len(environ) < 2 {
		t.Errorf("the gateway refuses %v: %v", environ, err)
	}
	if unknown := unknownSettings(environ); len(unknown) > 0 {
		t.Errorf("the gateway does not know %v", unknown)
	}
}

// commandOfPage is a command of the program in a page: up to what a shell takes for itself.
var commandOfPage = regexp.MustCompile("(?m)(?:^ *|[`(] ?|&& |;\\s+|in \\$\\()sluice ((?:[a-z][\\w-]*|--[\\w-]+|[A-Z]+|\"\\$\\w+\"|[0-9]+[a-z]?)(?: (?:[a-z][\\w-]*|--[\\w-]+|[A-Z]+|\"\\$\\w+\"|[0-9]+[a-z]?))*)")

func TestTheHandbookNamesCommandsAndSettingsThatExist(t *testing.T) {
	known := make(map[string]bool)
	for _, s := range settings() {
		known[s.name] = true
	}
	for page, least := range map[string]int{"README.md": 10, "day-two.md": 25} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`SLUICE_[A-Z_]*[A-Z]`).FindAllString(string(text), -1) {
			if !known[name] {
				t.Errorf("%s names %s, which is no setting", page, name)
			}
		}
		commands := commandOfPage.FindAllStringSubmatch(string(text), -1)
		if len(commands) < least {
			t.Errorf("%s has %d commands", page, len(commands))
		}
		for _, found := range commands {
			cmd, rest, err := new(program).root().Find(strings.Fields(found[1]))
			if err != nil || cmd.HasSubCommands() && len(rest) > 0 && rest[0] != "--help" {
				t.Errorf("%s: there is no command %q: %v", page, found[1], err)
				continue
			}
			for _, word := range rest {
				name, isFlag := strings.CutPrefix(word, "--")
				if isFlag && name != "help" && cmd.Flag(name) == nil {
					t.Errorf("%s: %q has no flag %s", page, found[1], word)
				}
			}
		}
	}
}

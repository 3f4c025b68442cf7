package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sluicehq/sluice/"

// rule says which packages of this module a package may import. Patterns are path
// prefixes; "third parties" stands for every other module.
type rule struct {
	who          string // prefix of the package's path within the module
	may          []string
	thirdParties bool
	reason       string
}

// rules are tried in order; the first whose prefix fits decides.
var rules = []rule{
	{"domain/tenant", []string{"domain"}, false, "the domain's order is tenant, connection, node, workflow, trigger, run, event"},
	{"domain/process", []string{"domain/tenant"}, false, "a process does not depend on what it works on; a queue names tenants"},
	{"domain/member", []string{"domain", "domain/tenant"}, false, "the domain's order is tenant, member"},
	{"domain/audit", []string{"domain", "domain/tenant"}, false, "the domain's order is tenant, audit"},
	{"domain/usage", []string{"domain", "domain/tenant"}, false, "the domain's order is tenant, usage"},
	{"domain/connection", []string{"domain", "domain/tenant"}, false, "the domain's order is tenant, connection, node, workflow, trigger, run, event"},
	{"domain/node", []string{"domain", "domain/process", "domain/tenant", "domain/connection"}, false, "the domain's order is tenant, connection, node, workflow, trigger, run, event"},
	{"domain/typing", []string{"domain/node"}, false, "the domain's order is tenant, connection, node, typing, workflow, trigger, run, event"},
	{"domain/workflow", []string{"domain", "domain/process", "domain/tenant", "domain/connection", "domain/node", "domain/typing"}, false, "the domain's order is tenant, connection, node, workflow, trigger, run, event"},
	{"domain/trigger", []string{"domain", "domain/tenant", "domain/connection", "domain/node", "domain/workflow"}, false, "the domain's order is tenant, connection, node, workflow, trigger, run, event"},
	{"domain/run", []string{"domain", "domain/tenant", "domain/connection", "domain/node", "domain/workflow", "domain/trigger"}, false, "the domain's order is tenant, connection, node, workflow, trigger, run, event"},
	{"domain/hook", []string{"domain", "domain/tenant", "domain/connection", "domain/node", "domain/workflow", "domain/trigger", "domain/run"}, false, "the domain's order is tenant, connection, node, workflow, trigger, run, hook, event"},
	{"domain/job", []string{"domain", "domain/tenant", "domain/trigger", "domain/run"}, false, "the domain's order is tenant, connection, node, workflow, trigger, run, job, event"},
	{"domain/event", []string{"domain", "domain/tenant", "domain/usage", "domain/connection", "domain/node", "domain/workflow", "domain/trigger", "domain/run"}, false, "the domain's order is tenant, connection, node, workflow, trigger, run, event"},
	{"domain/template", []string{"domain", "domain/tenant", "domain/connection", "domain/node"}, false, "templates are files, which name node types and connections"},
	{"domain/change", []string{"domain/tenant", "domain/workflow", "domain/run", "domain/event"}, false, "what changes in lists is said of everything else"},
	{"domain", nil, false, "the domain imports the standard library and itself only"},
	{"ports/portstest", []string{"domain/...", "ports/..."}, true, "suites speak of the domain and the ports"},
	{"ports", []string{"domain/..."}, false, "ports speak of the domain only"},
	{"application/fixture", []string{"..."}, true, "a fixture serves tests, and nothing else imports it"},
	{"application", []string{"domain/...", "ports/inbound", "ports/outbound", "application/batch", "application/execution"}, false, "use cases know the domain, the ports, how to share a commit and what moves a run on, not technology nor one another"},
	{"adapters/httpapi", []string{"domain/...", "ports/inbound", "adapters/httpapi/..."}, true, "a driving adapter calls inbound ports"},
	{"adapters/console", nil, true, "pages speak to the API as any client does"},
	{"adapters/httpserver", []string{"domain/..."}, true, "the server knows no API"},
	{"adapters/sqlstore/postgres/pgtest", []string{"deploy/testserver"}, true, "a server for tests serves no gateway"},
	{"adapters/sqlstore/sealtest", []string{"domain/...", "ports/outbound", "adapters/sqlstore", "adapters/secrets"}, true, "it puts together what stores of tests need"},
	{"adapters/sqlstore/core", []string{"domain/...", "ports/outbound"}, true, "what all repositories need knows none of them"},
	{"adapters/sqlstore/runs", []string{"domain/...", "ports/outbound", "adapters/sqlstore/core"}, true, "repositories of one kind do not know those of others"},
	{"adapters/sqlstore/webhooks", []string{"domain/...", "ports/outbound", "adapters/sqlstore/core"}, true, "repositories of one kind do not know those of others"},
	{"adapters/temporal", []string{"domain/...", "ports/inbound", "ports/outbound"}, true, "an engine is driven by workers, and drives them"},
	{"adapters/sqlstore", []string{"domain/...", "ports/outbound", "adapters/sqlstore/..."}, true, "a driven adapter implements outbound ports"},
	{"adapters/limiter/redis/redistest", []string{"deploy/testserver"}, true, "a server for tests serves no gateway"},
	{"adapters/limiter", []string{"domain/...", "ports/outbound"}, true, "a driven adapter implements outbound ports"},
	{"adapters/expression", []string{"domain/...", "ports/outbound", "adapters/expression/..."}, true, "a driven adapter implements outbound ports"},
	{"adapters/system", []string{"domain/...", "ports/outbound"}, true, "a driven adapter implements outbound ports"},
	{"adapters/budget", []string{"domain/...", "ports/outbound"}, true, "a driven adapter implements outbound ports"},
	{"adapters/directory", []string{"domain/...", "ports/outbound", "adapters/directory/..."}, true, "a driven adapter implements outbound ports"},
	{"adapters/oauth/oauthtest", nil, true, "a server for tests serves no gateway"},
	{"adapters/mail/mailtest", []string{"ports/outbound"}, true, "a server for tests serves no gateway"},
	{"adapters/oauth", []string{"domain/...", "ports/outbound"}, true, "a driven adapter implements outbound ports"},
	{"adapters/mail", []string{"domain/...", "ports/outbound"}, true, "a driven adapter implements outbound ports"},
	{"adapters/oidc", []string{"domain/...", "ports/outbound"}, true, "a driven adapter implements outbound ports"},
	{"adapters/passwords", []string{"domain/...", "ports/outbound"}, true, "a driven adapter implements outbound ports"},
	{"adapters/egress", []string{"domain/...", "ports/outbound", "adapters/egress/..."}, true, "a driven adapter implements outbound ports"},
	{"adapters/engine", []string{"domain/...", "ports/outbound", "adapters/engine/..."}, true, "a driven adapter implements outbound ports"},
	{"adapters/noderunner", []string{"domain/...", "ports/outbound", "adapters/noderunner/..."}, true, "a driven adapter implements outbound ports"},
	{"adapters/sandbox", []string{"domain/...", "ports/outbound"}, true, "a driven adapter implements outbound ports"},
	{"adapters/secrets", []string{"domain/...", "ports/outbound"}, true, "a driven adapter implements outbound ports"},
	{"adapters/telemetry", []string{"domain/...", "ports/outbound", "adapters/telemetry/..."}, true, "a driven adapter implements outbound ports"},
	{"adapters/webhook", []string{"domain/...", "ports/outbound", "adapters/webhook/..."}, true, "a driven adapter implements outbound ports"},
	{"cmd", []string{"..."}, true, "cmd puts everything together"},
	{"deploy", []string{"..."}, true, "deploy holds tools around the product"},
}

// listedPackage is what go list says of a package.
type listedPackage struct {
	ImportPath string
	Dir        string
	Doc        string
	Name       string
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Doc,Name,GoFiles,Imports", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImportsFollowTheHouse(t *testing.T) {
	for _, p := range packages(t) {
		who := strings.TrimPrefix(p.ImportPath, module)
		r, ok := ruleFor(who)
		if !ok {
			t.Errorf("%s belongs to no layer of the architecture", who)
			continue
		}
		for _, imported := range p.Imports {
			if why := forbidden(r, imported); why != "" {
				t.Errorf("%s imports %s: %s (%s)", who, imported, why, r.reason)
			}
		}
	}
}

// TestTheLinkerLeavesOutWhatNothingCalls: one call of a method by a name that is not known before makes the linker keep every
// exported method of every type, which is a third of the binary. Templates do that, and what takes one as text, such as
// cobra's SetUsageTemplate: pages are made with maragu.dev/gomponents, other texts with fmt.
func TestTheLinkerLeavesOutWhatNothingCalls(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "nomsgpack,grpcnotrace", "-ldflags", "-dumpdep", "-o", filepath.Join(t.TempDir(), "sluice"), ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		from, _, _ := strings.Cut(string(line), " -> ")
		if name, by := strings.CutSuffix(from, " <ReflectMethod>"); by {
			t.Fatalf("%s calls methods by name, so every exported method stays in the binary", name)
		}
	}
}

func ruleFor(who string) (rule, bool) {
	for _, r := range rules {
		if who == r.who || strings.HasPrefix(who, r.who+"/") {
			return r, true
		}
	}
	return rule{}, false
}

func forbidden(r rule, imported string) string {
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case strings.HasPrefix(imported, module):
		inside := strings.TrimPrefix(imported, module)
		if inside == r.who || slices.ContainsFunc(r.may, func(pattern string) bool { return fits(pattern, inside) }) {
			return ""
		}
		return "a package that it may not know"
	case !strings.Contains(first, "."):
		return "" // the standard library
	case strings.HasPrefix(imported, "github.com/google/wire") && r.who != "cmd":
		return "only cmd imports wire"
	case !r.thirdParties:
		return "a third party"
	default:
		return ""
	}
}

func fits(pattern, inside string) bool {
	prefix, deep := strings.CutSuffix(pattern, "...")
	if !deep {
		return inside == pattern
	}
	return inside+"/" == prefix || strings.HasPrefix(inside, prefix) || inside == strings.TrimSuffix(prefix, "/")
}

func TestEachRuleForbidsWhatItShould(t *testing.T) {
	for _, c := range []struct {
		who, imported string
		allowed       bool
	}{
		{"domain/tenant", module + "domain", true},
		{"domain/tenant", module + "domain/node", false},
		{"domain/trigger", module + "domain/workflow", true},
		{"domain", "github.com/google/uuid", false},
		{"ports/outbound", module + "application/triggers", false},
		{"application/triggers", module + "application/tenants", false},
		{"application/triggers", module + "application/batch", true},
		{"application/worker", module + "application/execution", true},
		{"application/triggers", module + "adapters/sqlstore", false},
		{"application/firing", module + "application/fixture", false},
		{"application/triggers", "github.com/gin-gonic/gin", false},
		{"adapters/sqlstore", module + "adapters/sqlstore/runs", true},
		{"adapters/sqlstore/runs", module + "adapters/sqlstore/core", true},
		{"adapters/sqlstore/runs", module + "adapters/sqlstore/webhooks", false},
		{"adapters/sqlstore/core", module + "adapters/sqlstore", false},
		{"adapters/sqlstore/core", module + "adapters/sqlstore/runs", false},
		{"adapters/httpapi", module + "ports/outbound", false},
		{"adapters/httpapi", module + "adapters/sqlstore", false},
		{"adapters/httpapi", module + "adapters/httpapi/jsonread", true},
		{"adapters/sqlstore/postgres", module + "adapters/sqlstore", true},
		{"adapters/sqlstore", module + "ports/inbound", false},
		{"adapters/system", "github.com/google/wire", false},
		{"cmd/sluice", module + "adapters/sqlstore/postgres", true},
	} {
		r, ok := ruleFor(c.who)
		if why := forbidden(r, c.imported); !ok || (why == "") != c.allowed {
			t.Errorf("%s importing %s: %q", c.who, c.imported, why)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// Bounds that keep one concept in a file and one thought in a function, in lines.
const (
	maxFile     = 400
	maxSuite    = 600
	maxFunction = 60
	maxTest     = 120 // of a function of a test or a suite
	maxMethods  = 6   // of an outbound port
)

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	eachFile(t, func(name string, set *token.FileSet, file *ast.File) {
		ofFile, ofFunction := maxFile, maxFunction
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "portstest/") || strings.Contains(name, "/fixture/") {
			ofFile, ofFunction = maxSuite, maxTest
		}
		if n := set.File(file.Pos()).LineCount(); n > ofFile {
			t.Errorf("%s has %d lines, more than %d", name, n, ofFile)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1; n > ofFunction {
				t.Errorf("%s: %s has %d lines, more than %d", name, fn.Name.Name, n, ofFunction)
			}
		}
	})
}

func TestOutboundPortsStayNarrow(t *testing.T) {
	eachFile(t, func(name string, _ *token.FileSet, file *ast.File) {
		if !strings.HasPrefix(name, "ports/outbound/") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if i, ok := spec.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > maxMethods {
					t.Errorf("%s: %s has %d methods, more than %d", name, spec.Name.Name, i.Methods.NumFields(), maxMethods)
				}
			}
			return true
		})
	})
}

func TestUseCasesReadNoAggregatesState(t *testing.T) {
	eachFile(t, func(name string, set *token.FileSet, file *ast.File) {
		if !strings.HasPrefix(name, "application/") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "application/fixture/") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "State" {
				t.Errorf("%s reads an aggregate's state; give the aggregate a method", set.Position(sel.Pos()))
			}
			return true
		})
	})
}

func TestNoPackageHasAnEmptyName(t *testing.T) {
	meaningless := regexp.MustCompile(`^(utils?|common|helpers?|base|models?|types|shared|misc)$`)
	for _, p := range packages(t) {
		if meaningless.MatchString(p.Name) || meaningless.MatchString(path.Base(p.ImportPath)) {
			t.Errorf("%s: the name says nothing", p.ImportPath)
		}
	}
}

func TestOnlyTheSixFoldersStandAtTheTop(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "-C", filepath.Join("..", ".."), "ls-files").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	given := []string{"domain", "application", "adapters", "ports", "cmd", "deploy"}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		top, _, inFolder := strings.Cut(lines.Text(), "/")
		if inFolder && !strings.HasPrefix(top, ".") && !slices.Contains(given, top) {
			t.Errorf("%s stands in a folder that does not belong at the top", lines.Text())
		}
	}
}

// eachFile parses every hand-written Go file of the module.
func eachFile(t *testing.T, look func(name string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_gen.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		short, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		look(filepath.ToSlash(short), set, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

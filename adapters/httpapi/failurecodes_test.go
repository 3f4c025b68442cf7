package httpapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi/openapi"
)

func TestTheDescriptionListsEveryCodeOfAFailedRun(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(openapi.YAML())
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	text := document.Components.Schemas["RunFailure"].Value.Properties["code"].Value.Description
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(text, -1) {
		for _, code := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			listed[code[1]] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(failureCodes(t))), slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("(-in the code, +in the description):\n%s", diff)
	}
}

// failureCodes are the codes in the sources: constants named code…, in the packages that
// make failures of nothing else, and what failures are made with elsewhere.
func failureCodes(t *testing.T) map[string]bool {
	t.Helper()
	found, constants := make(map[string]bool), make(map[string]string)
	files := sources(t, "domain/run/failure.go", "adapters/egress", "adapters/noderunner", "adapters/sandbox", "application")
	for path, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(strings.ToLower(spec.Names[0].Name), "code") {
				return true
			}
			if value, ok := stringLiteral(spec.Values[0]); ok {
				constants[filepath.Dir(path)+"."+spec.Names[0].Name] = value
				// What connections are refused with is the failure of an attempt.
				if !strings.HasPrefix(path, "application/") || strings.HasPrefix(path, "application/connections/") {
					found[value] = true
				}
			}
			return true
		})
	}
	for path, file := range files {
		note := func(e ast.Expr) {
			if value, ok := stringLiteral(e); ok {
				found[value] = true
			}
			if name, ok := e.(*ast.Ident); ok && constants[filepath.Dir(path)+"."+name.Name] != "" {
				found[constants[filepath.Dir(path)+"."+name.Name]] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "failed" && len(n.Args) > 0 {
					note(n.Args[0])
				}
			case *ast.CompositeLit:
				if kind, ok := n.Type.(*ast.SelectorExpr); ok && (kind.Sel.Name == "NodeFailed" || kind.Sel.Name == "AttemptFailed") {
					for _, e := range n.Elts {
						if pair, ok := e.(*ast.KeyValueExpr); ok && pair.Key.(*ast.Ident).Name == "Code" {
							note(pair.Value)
						}
					}
				}
			}
			return true
		})
	}
	return found
}

func stringLiteral(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}

// sources parses the files below paths of the module, without tests.
func sources(t *testing.T, paths ...string) map[string]*ast.File {
	t.Helper()
	all := make(map[string]*ast.File)
	for _, root := range paths {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			short, _ := filepath.Rel(filepath.Join("..", ".."), name) // it is below
			all[filepath.ToSlash(short)] = file
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Command size prints how many hand-written lines each package has, without tests, contract
// suites and what is generated, and how long functions are.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	s, err := measure(os.DirFS(root))
	if err == nil {
		err = s.print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// sizes are the lines of each package, and all functions.
type sizes struct {
	lines     map[string]int
	functions []function
}

type function struct {
	name  string // with its package's folder
	lines int
}

func measure(project fs.FS) (sizes, error) {
	s := sizes{lines: make(map[string]int)}
	err := fs.WalkDir(project, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != "." || entry.Name() == "node_modules" || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !isProduction(path):
			return nil
		}
		text, err := fs.ReadFile(project, path)
		if err != nil {
			return err
		}
		return s.add(path, text)
	})
	return s, err
}

// isProduction says whether a file is Go, and no test or part of a contract suite.
func isProduction(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "ports/portstest/")
}

// add counts a file, unless it is generated.
func (s *sizes) add(path string, text []byte) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if ast.IsGenerated(file) {
		return nil
	}
	folder := filepath.ToSlash(filepath.Dir(path))
	s.lines[folder] += bytes.Count(text, []byte("\n"))
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			length := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
			s.functions = append(s.functions, function{folder + "." + f.Name.Name, length})
		}
	}
	return nil
}

func (s *sizes) print(out io.Writer) error {
	var table strings.Builder
	total := 0
	for _, folder := range slices.Sorted(maps.Keys(s.lines)) {
		total += s.lines[folder]
		fmt.Fprintf(&table, "%7d  %s\n", s.lines[folder], folder)
	}
	fmt.Fprintf(&table, "%7d  in all\n", total)
	if _, err := io.WriteString(out, table.String()); err != nil || len(s.functions) == 0 {
		return err
	}
	slices.SortFunc(s.functions, func(a, b function) int { return cmp.Compare(a.lines, b.lines) })
	at := func(percent int) int { return s.functions[(len(s.functions)-1)*percent/100].lines }
	longest := s.functions[len(s.functions)-1]
	_, err := fmt.Fprintf(out, "%d functions: median %d lines, p90 %d, longest %d (%s)\n", len(s.functions), at(50), at(90), longest.lines, longest.name)
	return err
}

package workflowfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Workflow is a workflow as a file has it.
type Workflow struct {
	Name     string
	File     string // where it was read from; empty for one of a gateway
	document map[string]any
	places   places
}

// Text is what the file of the workflow holds: the same for workflows that mean the same.
func (w *Workflow) Text() []byte { return printed(w.document, fileShape) }

// Problem is one thing that is wrong.
type Problem struct {
	File    string // empty where it is in no file
	Line    int    // 0 for all of the file
	Path    string // of the member
	Message string
}

// String names the place as compilers do.
func (p Problem) String() string {
	text := p.File
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d", text, p.Line)
	}
	for _, part := range []string{p.Path, p.Message} {
		if text != "" && part != "" {
			text += ": "
		}
		text += part
	}
	return text
}

// Problems are all that were found.
type Problems []Problem

// Error has a line for each.
func (p Problems) Error() string {
	all := make([]string, len(p))
	for i, one := range p {
		all[i] = one.String()
	}
	return strings.Join(all, "\n")
}

func (p Problems) orNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// ReadFolder reads the files of a folder and of those in it whose names end in .json, or one file. Everything that is wrong
// with them is returned as Problems.
func ReadFolder(folder string) ([]*Workflow, error) {
	var all []*Workflow
	var found Problems
	byName := map[string]*Workflow{}
	info, err := os.Stat(folder)
	if err != nil {
		return nil, err
	}
	root := folder
	if info.IsDir() {
		root = filepath.Clean(folder) + string(filepath.Separator) // which a link is followed by
	}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".json" && name != root:
			return nil
		}
		content, err := os.ReadFile(name) //nolint:gosec // the person who runs the command names it
		if err != nil {
			return err
		}
		w, err := Parse(name, content)
		var problems Problems
		if errors.As(err, &problems) {
			found = append(found, problems...)
			return nil
		}
		if other := byName[w.Name]; other != nil {
			found = append(found, w.problem("name", fmt.Sprintf("is that of %s, too", other.File)))
		}
		byName[w.Name] = w
		all = append(all, w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, found.orNil()
}

// Parse reads a file. Everything that is wrong with it is returned as Problems.
func Parse(file string, content []byte) (*Workflow, error) {
	w := &Workflow{File: file}
	var found Problems
	report := func(path, message string) { found = append(found, Problem{File: file, Path: path, Message: message}) }
	at, line, err := placesIn(content, report)
	if err != nil {
		return nil, Problems{{File: file, Line: line, Message: "is no JSON: " + err.Error()}}
	}
	w.places = at
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.UseNumber()
	var read any
	if err := dec.Decode(&read); err != nil {
		return nil, Problems{{File: file, Message: err.Error()}}
	}
	document, ok := read.(map[string]any)
	if !ok {
		return nil, Problems{{File: file, Line: 1, Message: "must be a workflow, an object with name, nodes and edges"}}
	}
	fileShape.check("", document, report)
	if version, ok := document["sluice"].(json.Number); ok && version != "1" {
		report("sluice", "must be 1, the form of files that this version reads")
	}
	w.Name, _ = document["name"].(string)
	checkReferences(document, report)
	checkSources(document, report)
	for i := range found {
		found[i].Line = at.line(found[i].Path)
	}
	if found != nil {
		slices.SortFunc(found, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, strings.Compare(a.Path, b.Path)) })
		return nil, found
	}
	w.document = canonical(document)
	return w, nil
}

func (w *Workflow) problem(path, message string) Problem {
	return Problem{File: w.File, Line: w.places.line(path), Path: path, Message: message}
}

// canonical is the one form of what means the same.
func canonical(document map[string]any) map[string]any {
	document["sluice"] = json.Number("1")
	tidied := fileShape.tidy(document).(map[string]any) // an object stays one
	eachNode(tidied, func(_ string, n map[string]any) {
		if position, ok := n["position"].(map[string]any); ok {
			for _, side := range []string{"x", "y"} {
				if position[side] == nil {
					position[side] = json.Number("0")
				}
			}
		}
		eachSource(n, func(config map[string]any) {
			if source := joined(config["source"]); strings.Contains(source, "\n") {
				var lines []any
				for line := range strings.SplitSeq(source, "\n") {
					lines = append(lines, line)
				}
				config["source"] = lines
			} else if config["source"] != nil {
				config["source"] = source
			}
		})
	})
	eachOf(tidied, "triggers", func(_ string, one map[string]any) {
		hook, _ := one["hook"].(map[string]any)
		ranges, _ := hook["allowFrom"].([]any)
		for i, r := range ranges {
			ranges[i] = spelledRange(r)
		}
	})
	return tidied
}

// eachSource calls do with the configuration of a node with code.
func eachSource(n map[string]any, do func(config map[string]any)) {
	if config, ok := n["config"].(map[string]any); ok && n["type"] == "code" {
		do(config)
	}
}

// joined is code that is given as a text or as a list of its lines.
func joined(source any) string {
	lines, isList := source.([]any)
	if !isList {
		text, _ := source.(string)
		return text
	}
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i], _ = line.(string) // [checkSources] has seen to it
	}
	return strings.Join(texts, "\n")
}

func checkSources(document map[string]any, report func(path, message string)) {
	eachNode(document, func(path string, n map[string]any) {
		eachSource(n, func(config map[string]any) {
			path := path + ".config.source"
			switch source := config["source"].(type) {
			case nil, string:
			case []any:
				for i, line := range source {
					if _, ok := line.(string); !ok {
						report(element(path, i), "must be a text")
					}
				}
			default:
				report(path, "must be a text, or a list of its lines")
			}
		})
	})
}

// spelledRange is a range of addresses as the gateway spells it.
func spelledRange(value any) any {
	text, _ := value.(string)
	if address, err := netip.ParseAddr(text); err == nil {
		return address.String()
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return value // the gateway says what is wrong
	case prefix.IsSingleIP():
		return prefix.Addr().String()
	default:
		return prefix.String()
	}
}

// eachNode calls do with the path and the members of each node.
func eachNode(document map[string]any, do func(path string, n map[string]any)) {
	eachOf(document, "nodes", do)
}

func eachOf(document map[string]any, name string, do func(path string, one map[string]any)) {
	all, _ := document[name].([]any)
	for i, one := range all {
		if members, ok := one.(map[string]any); ok {
			do(element(name, i), members)
		}
	}
}

// draft is whether the file is of a workflow that was never published.
func (w *Workflow) draft() bool { return w.document["draft"] == true }

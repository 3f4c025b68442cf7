package workflowfile

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is a file that is not what the gateway has.
type Difference struct {
	Name string // of the workflow
	Text string // in the unified form; what applying takes away begins with -, what it adds with +
}

// Diff compares files with the gateway. What only the gateway has counts where it would be removed.
func (g *Gateway) Diff(ctx context.Context, files []*Workflow, prune bool) ([]Difference, error) {
	s, err := g.compared(ctx, files)
	if err != nil {
		return nil, err
	}
	var found []Difference
	add := func(name, from, to string, before, after []byte) {
		if text := unified(string(before), string(after)); text != "" {
			found = append(found, Difference{name, fmt.Sprintf("--- %s\n+++ %s\n%s", from, to, text)})
		}
	}
	for _, f := range files {
		if p := s.byName[f.Name]; p != nil {
			add(f.Name, "gateway: "+f.Name, f.File, printed(p.against(f, prune), fileShape), f.Text())
		} else {
			add(f.Name, "/dev/null", f.File, nil, f.Text())
		}
	}
	if prune {
		for _, p := range s.missingIn(files) {
			found = append(found, Difference{p.Name, fmt.Sprintf("--- gateway: %s\n+++ /dev/null\n", p.Name)})
		}
	}
	return found, nil
}

// compared reads what is to be compared with files.
func (g *Gateway) compared(ctx context.Context, files []*Workflow) (*state, error) {
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[f.Name] = true
	}
	s, _, err := g.read(ctx, wanted) // what no file can have differs from each
	return s, err
}

// missingIn are the workflows that have no file.
func (s *state) missingIn(files []*Workflow) (all []*present) {
	for _, p := range s.workflows {
		if !slices.ContainsFunc(files, func(f *Workflow) bool { return f.Name == p.Name }) {
			all = append(all, p)
		}
	}
	return all
}

// against is what the gateway has as far as the file speaks of it: without triggers and hooks that the file does not have, unless
// they would be removed, in the order of the file, and without saying what is active where the file does not.
func (p *present) against(f *Workflow, prune bool) map[string]any {
	document := maps.Clone(p.document)
	sayActive(document, f.document)
	theirs, key := map[string]map[string]any{}, keys()
	var order []string
	eachOf(p.document, "triggers", func(_ string, one map[string]any) {
		k := key(one)
		theirs[k] = one
		order = append(order, k)
	})
	var triggers []any
	key = keys()
	eachOf(f.document, "triggers", func(_ string, one map[string]any) {
		k := key(one)
		if found := theirs[k]; found != nil {
			found = maps.Clone(found)
			sayActive(found, one)
			hook, _ := found["hook"].(map[string]any)
			if wanted, _ := one["hook"].(map[string]any); wanted != nil && hook != nil {
				hook = maps.Clone(hook)
				sayActive(hook, wanted)
				found["hook"] = hook
			} else if !prune {
				delete(found, "hook")
			}
			triggers = append(triggers, found)
			delete(theirs, k)
		}
	})
	for _, k := range order {
		if one := theirs[k]; one != nil && prune {
			triggers = append(triggers, one)
		}
	}
	document["triggers"] = triggers
	return fileShape.tidy(document).(map[string]any) // an object stays one
}

// sayActive has a record say whether it is active where the file does.
func sayActive(record, file map[string]any) {
	if _, said := file["isActive"]; !said {
		delete(record, "isActive")
	} else if record["isActive"] == nil {
		record["isActive"] = true
	}
}

// around is how many lines that are the same stand around those that differ.
const around = 3

// unified compares two texts by lines; it is empty where they are the same.
func unified(before, after string) string {
	if before == after {
		return ""
	}
	edits := compareLines(splitLines(before), splitLines(after))
	var out strings.Builder
	for i := 0; i < len(edits); {
		first := slices.IndexFunc(edits[i:], func(e edit) bool { return e.sign != ' ' })
		if first < 0 {
			break
		}
		begin, end := max(i, i+first-around), i+first
		for last := end; last < len(edits) && last <= end+2*around; last++ {
			if edits[last].sign != ' ' {
				end = last
			}
		}
		stop := min(len(edits), end+around+1)
		var removed, added int
		for _, e := range edits[begin:stop] {
			if e.sign != '+' {
				removed++
			}
			if e.sign != '-' {
				added++
			}
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", edits[begin].before-empty(removed), removed, edits[begin].after-empty(added), added)
		for _, e := range edits[begin:stop] {
			fmt.Fprintf(&out, "%c%s\n", e.sign, e.line)
		}
		i = stop
	}
	return out.String()
}

// empty is 1 for no lines: those begin behind the line before them.
func empty(lines int) int {
	if lines == 0 {
		return 1
	}
	return 0
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// edit is a line of one text or of both, with the numbers that the next lines of both have.
type edit struct {
	sign          byte // ' ', '-' or '+'
	line          string
	before, after int
}

// maxCompared bounds the memory of a comparison, 4 bytes for each pair of lines: beyond it all lines of one text are taken away and
// those of the other added.
const maxCompared = 10_000_000

// compareLines finds the longest common part of what is between the lines that are the same at both ends.
func compareLines(before, after []string) []edit {
	var same int
	for same < min(len(before), len(after)) && before[same] == after[same] {
		same++
	}
	a, b := before[same:], after[same:]
	var end []string
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		end = append(end, a[len(a)-1])
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	isLarge := len(a)*len(b) > maxCompared
	var common [][]int32 // how many lines the rests of both have in common
	if !isLarge {
		common = commonLines(a, b)
	}
	var edits []edit
	for n, line := range before[:same] {
		edits = append(edits, edit{' ', line, n + 1, n + 1})
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		e := edit{before: same + i + 1, after: same + j + 1}
		switch {
		case !isLarge && i < len(a) && j < len(b) && a[i] == b[j]:
			e.sign, e.line = ' ', a[i]
			i++
			j++
		case j == len(b) || i < len(a) && (isLarge || common[i+1][j] >= common[i][j+1]):
			e.sign, e.line = '-', a[i]
			i++
		default:
			e.sign, e.line = '+', b[j]
			j++
		}
		edits = append(edits, e)
	}
	for n, line := range slices.Backward(end) {
		edits = append(edits, edit{' ', line, len(before) - n, len(after) - n})
	}
	return edits
}

func commonLines(a, b []string) [][]int32 {
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i, line := range slices.Backward(a) {
		for j, other := range slices.Backward(b) {
			if line == other {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}

// same says whether two documents mean the same.
func same(a, b map[string]any) bool { return bytes.Equal(printed(a, fileShape), printed(b, fileShape)) }

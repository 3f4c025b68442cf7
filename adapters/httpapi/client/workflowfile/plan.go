package workflowfile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/adapters/httpapi/client"
)

// Options say what applying files does.
type Options struct {
	Publish       bool // versions that differ from the active ones become active
	Prune         bool // workflows, triggers and hooks that no file has are deleted
	ShowAddresses bool // whoever has the address of a new hook may call it where it verifies nothing
}

// Step is one change of the gateway.
type Step struct {
	Text string // what it does, for people
	of   *target
	do   func(context.Context) (note string, err error)
}

// target is a file with what the gateway has of it.
type target struct {
	file    *Workflow
	id      string // of the workflow, once it is there
	current *present
	version string // the version that the file's triggers belong to
	failed  bool
}

// Plan is what makes the gateway have what files say. It changes nothing before [Plan.Run].
type Plan struct {
	Steps   []Step
	Notes   []string // what is left as it is although it differs
	gateway *Gateway
	options Options
	state   *state
}

// Plan compares files with the gateway. What files name and neither they nor the gateway have is returned as Problems.
func (g *Gateway) Plan(ctx context.Context, files []*Workflow, options Options) (*Plan, error) {
	s, err := g.compared(ctx, files)
	if err != nil {
		return nil, err
	}
	p := &Plan{gateway: g, options: options, state: s}
	var targets []*target
	if err := checkNames(files, s.names); err != nil {
		return nil, err
	}
	for _, f := range calleesFirst(files) {
		t := &target{file: f, current: s.byName[f.Name]}
		if t.current == nil {
			t.current = &present{Workflow: &Workflow{Name: f.Name}}
		}
		t.id = t.current.record.text("id")
		targets = append(targets, t)
	}
	for _, plan := range []func(*target){p.planWorkflow, p.planVersion, p.planPublish, p.planTriggers} {
		for _, t := range targets {
			plan(t)
		}
	}
	for _, extra := range s.missingIn(files) {
		if options.Prune {
			p.step(&target{file: extra.Workflow}, fmt.Sprintf("delete the workflow %q, with its versions and triggers", extra.Name), func(ctx context.Context) (string, error) {
				return "", g.remove(ctx, "/workflows/"+extra.record.text("id"), extra.record)
			})
		} else {
			p.Notes = append(p.Notes, fmt.Sprintf("the workflow %q has no file and stays", extra.Name))
		}
	}
	return p, nil
}

// checkNames reports names that stand for nothing.
func checkNames(files []*Workflow, known names) error {
	var found Problems
	for _, f := range files {
		known.identified("", f.document, func(path, message string) {
			kind, name, _ := reference(f.at(path))
			if kind == toWorkflow && slices.ContainsFunc(files, func(other *Workflow) bool { return other.Name == name }) {
				return // it will be there
			}
			found = append(found, f.problem(path, message))
		})
	}
	return found.orNil()
}

// at is the value at a path of the file that stands for an identifier.
func (w *Workflow) at(path string) (found any) {
	replaced("", w.document, func(at string, value any) (any, bool) {
		if at == path {
			found = value
		}
		return nil, false
	})
	return found
}

// calleesFirst sorts files so that what others call comes before them.
func calleesFirst(files []*Workflow) (sorted []*Workflow) {
	byName, seen := map[string]*Workflow{}, map[string]bool{}
	for _, f := range files {
		byName[f.Name] = f
	}
	var visit func(*Workflow)
	visit = func(f *Workflow) {
		if f == nil || seen[f.Name] {
			return
		}
		seen[f.Name] = true
		for _, name := range f.calls() {
			visit(byName[name])
		}
		sorted = append(sorted, f)
	}
	for _, f := range files {
		visit(f)
	}
	return sorted
}

func (p *Plan) step(t *target, text string, do func(context.Context) (string, error)) {
	p.Steps = append(p.Steps, Step{text, t, do})
}

// Run carries out the steps, and calls done after each with what is to be said of it. Where one of a workflow fails, its
// others are left out, and those of other workflows go on. Running the plan of the same files again does what is left.
func (p *Plan) Run(ctx context.Context, done func(step Step, note string)) error {
	var failures []error
	for _, s := range p.Steps {
		if s.of.failed {
			continue
		}
		note, err := s.do(ctx)
		if err != nil {
			s.of.failed = true
			failures = append(failures, s.of.file.explain(s.Text, err))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		done(s, note)
	}
	return errors.Join(failures...)
}

// partError is a refusal of what stands at a path of the file.
type partError struct {
	path string
	err  error
}

func (e partError) Error() string { return e.err.Error() }
func (e partError) Unwrap() error { return e.err }

// explain says where in the file stands what the gateway refused.
func (w *Workflow) explain(step string, err error) error {
	path := ""
	if part, ok := errors.AsType[partError](err); ok {
		path = part.path
	}
	refused, ok := errors.AsType[*client.RequestError](err)
	if !ok || refused.Body.Code == "" { // which is not the gateway's
		if problems, ok := errors.AsType[Problems](err); ok {
			return problems
		}
		return fmt.Errorf("cannot %s: %w", step, err)
	}
	found := Problems{w.problem(path, fmt.Sprintf("cannot %s: %s (%s)", step, refused.Body.Message, refused.Body.Code))}
	if refused.Body.Details != nil {
		for _, v := range *refused.Body.Details {
			found = append(found, w.problem(strings.TrimPrefix(path+"."+v.Field, "."), v.Message))
		}
	}
	return found
}

// errChanged is reported of what is not as it was compared.
var errChanged = errors.New("it was changed by somebody else in the meantime; compare again")

// fresh returns the ETag of a record that is still as it was read.
func (g *Gateway) fresh(ctx context.Context, path string, seen record) (etag string, err error) {
	var header http.Header
	now, err := g.get(ctx, path, client.AnswerHeader(&header))
	if err != nil {
		return "", err
	}
	if !reflect.DeepEqual(unmoved(now), unmoved(seen)) {
		return "", errChanged
	}
	return header.Get("ETag"), nil
}

// unmoved is a record without what publishing changes of a trigger.
func unmoved(r record) record {
	r = maps.Clone(r)
	delete(r, "workflowVersionId")
	delete(r, "updatedAt")
	return r
}

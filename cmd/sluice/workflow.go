package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/httpapi/client"
	"github.com/sluicehq/sluice/adapters/httpapi/client/workflowfile"
)

// errDiffers ends sluice workflow diff where something differs, which it has printed.
var errDiffers = errors.New("the files differ from the gateway")

// notCompared is why sluice workflow diff cannot say whether something differs.
type notCompared struct{ error }

func (e notCompared) Unwrap() error { return e.error }

func (p *program) workflowCommand() *cobra.Command {
	cmd := group("workflow", "Keep workflows as files: export, compare and apply them",
		p.workflowExport(), p.workflowDiff(), p.workflowApply())
	cmd.Long = "Workflows as files of JSON, one for each, which a person can read, compare and keep in Git. They have names in place of\n" +
		"identifiers, and no secrets. The commands speak to the gateway at SLUICE_URL with the key SLUICE_API_KEY."
	return cmd
}

// workflowOptions are what the commands have in common.
type workflowOptions struct {
	subTenant string
	prune     bool
}

func (o *workflowOptions) add(cmd *cobra.Command, prune string) {
	cmd.Flags().StringVar(&o.subTenant, "sub-tenant", "", "the sub-tenant whose workflows they are (default: those of none)")
	cmd.Flags().BoolVar(&o.prune, "prune", false, prune)
}

// gateway returns what the settings name.
func (p *program) gateway(o workflowOptions) (*workflowfile.Gateway, error) {
	cfg, err := readConfig(p.environ)
	if err != nil {
		return nil, err
	}
	for _, s := range []struct{ name, value string }{{"URL", cfg.URL}, {"API_KEY", cfg.APIKey}} {
		if s.value == "" {
			return nil, fmt.Errorf("%w: %s%s must be set", errConfiguration, envPrefix, s.name)
		}
	}
	c, err := client.Connect(cfg.URL, cfg.APIKey)
	if err != nil {
		return nil, fmt.Errorf("%w: SLUICE_URL: %w", errConfiguration, err)
	}
	return workflowfile.NewGateway(c, o.subTenant), nil
}

func (p *program) workflowExport() *cobra.Command {
	var o workflowOptions
	cmd := &cobra.Command{
		Use: "export DIR", Short: "Write the workflows of the gateway into a folder", Args: exactly("a folder"),
		Long: "Writes a file for each workflow: its active version, or the newest where none is active, and its triggers with their\n" +
			"hooks. A workflow that has a file in the folder is written there.",
		RunE: func(cmd *cobra.Command, args []string) error {
			gateway, err := p.gateway(o)
			if err != nil {
				return err
			}
			found, err := gateway.Read(cmd.Context())
			var problems workflowfile.Problems
			if errors.As(err, &problems) {
				return problems // a part of them would look like all
			} else if err != nil {
				return err
			}
			return p.writeWorkflows(args[0], found, o.prune)
		},
	}
	o.add(cmd, "remove files whose workflow the gateway does not have")
	return cmd
}

// writeWorkflows writes each workflow into its file, and says which were written.
func (p *program) writeWorkflows(folder string, found []*workflowfile.Workflow, prune bool) error {
	if err := os.MkdirAll(folder, 0o777); err != nil { //nolint:gosec // the umask says who may read them
		return err
	}
	there, err := workflowfile.ReadFolder(folder)
	if err != nil {
		return err
	}
	if prune && len(found) == 0 && len(there) > 0 {
		return errors.New("the gateway shows no workflow to this key, so no file was removed")
	}
	files := map[string]string{}
	for _, w := range there {
		files[w.Name] = w.File
	}
	for _, w := range found {
		name := files[w.Name]
		if name == "" {
			name = freeFile(folder, w.Name)
		}
		delete(files, w.Name)
		if before, err := os.ReadFile(name); err == nil && bytes.Equal(before, w.Text()) { //nolint:gosec // the person who runs the command names the folder
			continue
		}
		if err := os.WriteFile(name, w.Text(), 0o666); err != nil { //nolint:gosec // the umask says who may read it
			return err
		}
		if err := p.printf("wrote %s\n", name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Values(files)) {
		if !prune {
			_, _ = fmt.Fprintf(p.stderr, "%s: the gateway has no such workflow; --prune removes the file\n", name)
			continue
		}
		if err := os.Remove(name); err != nil {
			return err
		}
		if err := p.printf("removed %s\n", name); err != nil {
			return err
		}
	}
	return nil
}

// freeFile is where a workflow without a file is written.
func freeFile(folder, name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slug := strings.Join(words, "-")
	for len(slug) > 100 { // bytes: file systems take 255
		_, size := utf8.DecodeLastRuneInString(slug)
		slug = slug[:len(slug)-size]
	}
	if slug == "" {
		slug = "workflow"
	}
	for n := 1; ; n++ {
		file := filepath.Join(folder, slug+".json")
		if n > 1 {
			file = filepath.Join(folder, fmt.Sprintf("%s-%d.json", slug, n))
		}
		if _, err := os.Lstat(file); err != nil { // writing says any other reason
			return file
		}
	}
}

func (p *program) workflowDiff() *cobra.Command {
	var o workflowOptions
	cmd := &cobra.Command{
		Use: "diff DIR", Short: "Show what applying files would change", Args: exactly("a folder or a file"),
		Long: "Compares files with the active versions, or the newest where none is active, and prints the lines that differ. It ends\n" +
			"with 0 where nothing differs, with 1 where something does, and with 2 where that is not known.",
		RunE: func(cmd *cobra.Command, args []string) error {
			err := p.diffWorkflows(cmd.Context(), args[0], o)
			if err != nil && !errors.Is(err, errDiffers) {
				return notCompared{err}
			}
			return err
		},
	}
	o.add(cmd, "compare what the files do not have, too")
	return cmd
}

func (p *program) diffWorkflows(ctx context.Context, folder string, o workflowOptions) error {
	files, gateway, err := p.readWorkflows(folder, o)
	if err != nil {
		return err
	}
	found, err := gateway.Diff(ctx, files, o.prune)
	if err != nil {
		return err
	}
	for _, d := range found {
		if err := p.printf("%s", d.Text); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return errDiffers
	}
	return nil
}

func (p *program) readWorkflows(folder string, o workflowOptions) ([]*workflowfile.Workflow, *workflowfile.Gateway, error) {
	gateway, err := p.gateway(o)
	if err != nil {
		return nil, nil, err
	}
	files, err := workflowfile.ReadFolder(folder)
	if err == nil && len(files) == 0 { // which would mean that there are to be none
		err = fmt.Errorf("%w: %s has no files whose names end in .json", errUsage, folder)
	}
	return files, gateway, err
}

func (p *program) workflowApply() *cobra.Command {
	var o workflowOptions
	var options workflowfile.Options
	var dryRun bool
	cmd := &cobra.Command{
		Use: "apply DIR", Short: "Make the gateway have what files say", Args: exactly("a folder or a file"),
		Long: "Creates and changes workflows, versions, triggers and hooks so that the gateway has what the files say, by their names.\n" +
			"What is as a file says is left alone, and nothing is deleted without --prune. Without --publish, a workflow that differs\n" +
			"gets a draft, and what is active stays as it is.",
		RunE: func(cmd *cobra.Command, args []string) error {
			files, gateway, err := p.readWorkflows(args[0], o)
			if err != nil {
				return err
			}
			options.Prune = o.prune
			plan, err := gateway.Plan(cmd.Context(), files, options)
			if err != nil {
				return err
			}
			return p.applyWorkflows(cmd.Context(), plan, dryRun)
		},
	}
	cmd.Flags().BoolVar(&options.Publish, "publish", false, "make what differs from the active version the active one")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the steps and change nothing")
	cmd.Flags().BoolVar(&options.ShowAddresses, "show-addresses", false, "print the addresses of new hooks, which are secrets")
	o.add(cmd, "delete workflows, triggers and hooks that the files do not have")
	return cmd
}

func (p *program) applyWorkflows(ctx context.Context, plan *workflowfile.Plan, dryRun bool) (err error) {
	steps := 0
	say := func(text string) {
		if _, failed := fmt.Fprintln(p.stdout, text); err == nil {
			err = failed
		}
	}
	if dryRun {
		for _, s := range plan.Steps {
			say("would " + s.Text)
		}
		steps = len(plan.Steps)
	} else {
		if failed := plan.Run(ctx, func(s workflowfile.Step, note string) {
			steps++
			say(s.Text)
			for line := range strings.Lines(note) {
				say("  " + strings.TrimSuffix(line, "\n"))
			}
		}); failed != nil {
			err = failed
		}
	}
	for _, note := range plan.Notes {
		_, _ = fmt.Fprintln(p.stderr, note)
	}
	if steps == 0 && err == nil {
		say("nothing to change")
	}
	return err
}

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func TestTheChartKnowsNoOtherSettingsThanThereAre(t *testing.T) {
	known := make(map[string]bool)
	for _, s := range settings() {
		known[s.name] = true
	}
	chart := os.DirFS(filepath.Join("..", "..", "deploy", "helm", "sluice"))
	named := make(map[string]bool)
	err := fs.WalkDir(chart, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(chart, path)
		for _, name := range regexp.MustCompile(`SLUICE_[A-Z_]*[A-Z]`).FindAllString(string(text), -1) {
			if named[name] = true; !known[name] {
				t.Errorf("%s names %s", path, name)
			}
		}
		return err
	})
	if err != nil || len(named) < 10 {
		t.Errorf("it names %d settings: %v", len(named), err)
	}
}

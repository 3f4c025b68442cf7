package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheServerIsTheOneOfTheModule(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "tools", "temporal", "go.mod"))
	if err != nil || !strings.Contains(string(text), "github.com/temporalio/cli "+version+" ") {
		t.Errorf("go.mod does not hold %s: %v", version, err)
	}
}

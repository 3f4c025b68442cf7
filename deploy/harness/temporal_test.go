package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTemporalServerIsTheOneOfTheModule(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "tools", "temporal", "go.mod"))
	if err != nil || !strings.Contains(string(text), "github.com/temporalio/cli "+temporalVersion+" ") {
		t.Errorf("go.mod does not hold %s: %v", temporalVersion, err)
	}
}

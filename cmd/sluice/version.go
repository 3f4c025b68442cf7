package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set when a release is built.
var version = "dev"

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			b := builtFrom()
			if p.json {
				return p.printJSON(b)
			}
			return p.printf("sluice %s (feature level %d, commit %s, %s, %s)\n", b.Version, b.Level, b.Commit, b.Go, b.Platform)
		},
	}
}

// build says what a binary was built from.
type build struct {
	Version  string `json:"version"`
	Level    int    `json:"level"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func builtFrom() build {
	b := build{Version: version, Level: int(featureLevel()), Commit: "unknown", Go: runtime.Version(), Platform: fmt.Sprintf("%s/%s", runtime.GOOS, runtime.GOARCH)}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}

//go:build !linux

package main

import (
	"os/exec"
	"time"

	"github.com/sluicehq/sluice/deploy/process"
)

// bound does nothing here: a program ends when the bench stops it.
func bound(*exec.Cmd) {}

func processorTime(int) (time.Duration, error) { return 0, process.ErrNeedsLinux }

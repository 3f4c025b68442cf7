//go:build !linux

package main

import (
	"os/exec"
	"time"
)

// bound does nothing here: a program ends when the bench stops it.
func bound(*exec.Cmd) {}

func processorTime(int) (time.Duration, error) { return 0, errNeedsLinux }

func memory(int) (now, peak int64, err error) { return 0, 0, errNeedsLinux }

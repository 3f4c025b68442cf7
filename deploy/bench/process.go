package main

import (
	"os"
	"os/exec"
	"time"
)

// Bounds of starting and stopping a program.
const (
	startTimeout = 30 * time.Second
	stopTimeout  = 20 * time.Second
)

// endProcess asks a program to end, waits, and kills it when it does not.
func endProcess(cmd *exec.Cmd, ended chan error, sig os.Signal) {
	_ = cmd.Process.Signal(sig) // it may have ended already
	select {
	case <-ended: //nolint:errcheck // how it ended is in its log
	case <-time.After(stopTimeout):
		_ = cmd.Process.Kill()
		<-ended //nolint:errcheck // it was killed
	}
}

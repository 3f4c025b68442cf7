//go:build !linux

package main

import (
	"errors"
	"os"
	"os/exec"
)

// bound does nothing here: a program ends when the bench stops it.
func bound(*exec.Cmd) {}

// humble is the user that PostgreSQL's programs run as: here always the one who
// runs the bench.
type humble struct{}

func humbleUser() (*humble, error) {
	if os.Geteuid() == 0 {
		return nil, errors.New("PostgreSQL refuses to run as root; run the bench as another user")
	}
	return nil, nil
}

func (*humble) own(string) error { return nil }
func (*humble) as(*exec.Cmd)     {}

package main

import (
	"fmt"
	"os"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/sandbox"
	"github.com/sluicehq/sluice/ports/outbound"
)

// codeCommand starts a process that runs code, in place of any other command. It is for the
// gateway itself.
const codeCommand = "run-code-of-tenants"

// runningProgram is the program that runs, on Linux also when its file was replaced since.
const runningProgram = "/proc/self/exe"

// openCode returns what runs code; nil where that is switched off.
func openCode(cfg config, memory budget.Memory) (runner outbound.CodeRunner, end func(), err error) {
	if !cfg.runsCode() {
		return nil, func() {}, nil
	}
	program := runningProgram
	if _, err := os.Stat(program); err != nil {
		if program, err = os.Executable(); err != nil {
			return nil, nil, fmt.Errorf("find the program that runs code: %w", err)
		}
	}
	s := sandbox.New(sandbox.Options{Command: []string{program, codeCommand}, Processes: memory.Code})
	return s, s.Close, nil
}

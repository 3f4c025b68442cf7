package main

import (
	"context"
	"strings"
)

// verify has the gateway's own commands look at what the round has left.
func (e *env) verify(ctx context.Context) {
	for _, one := range []struct {
		command string
		promise promise
	}{{"usage verify", usageExact}, {"audit verify", auditWhole}} {
		text, err := e.gateways[0].Command(ctx, strings.Fields(one.command)...)
		if !e.found.checked(err == nil, one.promise, "sluice %s: %v", one.command, err) {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		e.verified = append(e.verified, [2]string{"sluice " + one.command, lines[len(lines)-1]})
	}
}

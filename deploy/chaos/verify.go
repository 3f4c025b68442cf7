package main

import (
	"context"
	"strings"
)

// verify has the gateway's own commands look at what the round has left.
func (e *env) verify(ctx context.Context) {
	for command, p := range map[string]promise{"usage verify": usageExact, "audit verify": auditWhole} {
		text, err := e.gateways[0].Command(ctx, strings.Fields(command)...)
		if !e.found.checked(err == nil, p, "sluice %s: %v", command, err) {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		e.verified = append(e.verified, [2]string{"sluice " + command, lines[len(lines)-1]})
	}
}

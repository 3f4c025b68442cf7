package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout bounds one check, below the interval at which containers are checked.
const healthTimeout = 5 * time.Second

func (p *program) healthcheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "healthcheck", Short: "Ask the gateway on this machine whether it is ready", Args: exactly(),
		Long: "Asks the gateway that listens on SLUICE_LISTEN on this machine for /readyz, and ends with 0 when\n" +
			"it is ready. It is for containers, which have no shell and no curl.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(p.environ)
			if err != nil {
				return err
			}
			return checkHealth(cmd.Context(), cfg.Listen)
		},
	}
}

// checkHealth asks the gateway at an address, in the form that it listens on, whether
// it is ready.
func checkHealth(ctx context.Context, listen string) error {
	if _, port, err := net.SplitHostPort(listen); err == nil && port == "0" {
		return fmt.Errorf("%w: SLUICE_LISTEN leaves the port to the system, so it is not known here", errUsage)
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(listen)+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r) // without the environment's proxy
	if err != nil {
		return fmt.Errorf("the gateway does not answer: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil {
		return fmt.Errorf("the gateway is not ready: %s, and its answer breaks off: %w", answer.Status, err)
	}
	return fmt.Errorf("the gateway is not ready: %s %s", answer.Status, text)
}

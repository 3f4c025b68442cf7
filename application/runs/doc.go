// Package runs implements inbound.Runs: what can be asked of runs, and done with them.
package runs

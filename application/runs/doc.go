// Package runs implements inbound.Firing, inbound.Runs and inbound.Worker, and the
// outbound.RunStarter and outbound.RunEnder of other use cases: everything that starts
// runs, moves them on and shows them. What a run does is decided by run.Run.Advance;
// this package brings it facts, makes the attempts it asks for and records its steps.
package runs

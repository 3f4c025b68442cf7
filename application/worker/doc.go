// Package worker implements inbound.Worker. What a run does is decided by run.Run.Advance;
// a worker brings it facts, makes the attempts it asks for and records its steps.
package worker

package budget

import (
	"github.com/sluicehq/sluice/ports/outbound"
)

// Memory is what the process may take for tenants, divided by what it is for.
type Memory struct {
	Runs      int64   // of the runs that are worked on, as they are stored, in bytes
	Intake    *Budget // requests and what they become
	Pages     *Budget // what is shown of runs and lists, until its readers have it
	Calls     *Budget // calls of nodes that are under way
	Growing   *Budget // runs whose results may become large
	Compute   *Budget // what runs look at and compute
	Brief     *Budget // the same, of what takes a moment
	Planning  *Budget // versions that are made ready to run
	Lists     *Budget // what has changed in lists that somebody follows
	Passwords *Budget // passwords that are hashed, whosever they are: one part, without shares

	Simulations *Budget // turns to simulate
	Processors  *Budget // turns to compute for long
	Code        *Budget // processes that run code
}

// What the process takes for itself, in bytes, and the part of the rest that is divided.
// What is left is for garbage that was not collected yet.
const (
	ownMemory = 120 << 20
	divided   = 48 // percent

	computing   = 38 // percent of it; one run may have four fifths of that
	intake      = 16 // percent of it; one request may have three quarters of that
	simulations = 4  // at the same time

	// MinMemory is a limit with which everything can be done that is not large.
	MinMemory = 256 << 20

	// EmbeddedMemory is what the embedded database takes of a limit.
	EmbeddedMemory = 64 << 20

	minDivided = 56 << 20

	briefPart = 20 // which part of a limit may be computed with for a moment, as little as that is

	listsPart = 200 // which part of a limit the changes of lists may take

	// codeMemory is what a process takes that runs code, with the memory that code has unless
	// it says otherwise; codePart is which part of a limit such processes may take.
	codeMemory = 80 << 20
	codePart   = 8

	passwordsPart = 16 // which part of a limit the hashing of passwords may take
)

// passwords is how much memory passwords are hashed with: that of one at least, and of no more than there are
// processors to hash them.
func passwords(limit int64, processors int) int64 {
	return max(1, min(int64(processors), limit/passwordsPart/outbound.PasswordMemory)) * outbound.PasswordMemory
}

// codeProcesses is how many processes run code at the same time, in a process with a limit of
// memory.
func codeProcesses(limit int64, processors int) int64 {
	return max(1, min(int64(2*processors), limit/codePart/codeMemory))
}

// CodeMemory is what the processes that run code take of a limit, in bytes, as far as it is not
// needed for everything else.
func CodeMemory(limit int64, processors int) int64 {
	return max(0, min(codeProcesses(limit, processors)*codeMemory, limit-MinMemory))
}

// Divide divides a limit of the process's memory, in bytes, and its processors.
func Divide(limit int64, processors int) Memory {
	signIns := passwords(limit, processors)
	whole := max((limit-ownMemory-signIns)*divided/100, minDivided)
	code := codeProcesses(limit, processors)
	turns := int64(max(1, processors/2)) // the others are for whoever computes for a moment
	part := func(percent int64) *Budget { return New(whole * percent / 100) }
	return Memory{
		Runs: whole * 6 / 100, Growing: part(22), Intake: NewShared(whole*intake/100, whole*intake/800), Pages: part(6), Calls: part(6), Compute: NewShared(whole*computing/100, whole*computing/1000), Planning: part(6),
		Brief:       NewShared(max(outbound.BriefMemory, limit/briefPart), limit/briefPart/3),
		Lists:       New(max(limit, MinMemory) / listsPart),
		Passwords:   NewShared(signIns, signIns),
		Simulations: NewShared(simulations, simulations/2), Processors: NewShared(turns, turns),
		Code: NewShared(code, max(1, code/2)),
	}
}

// Parts are those that are reserved from, by their names.
func (m Memory) Parts() map[string]*Budget {
	return map[string]*Budget{
		"intake": m.Intake, "pages": m.Pages, "calls": m.Calls, "growing": m.Growing, "computing": m.Compute, "brief": m.Brief, "planning": m.Planning, "lists": m.Lists, "passwords": m.Passwords,
	}
}

// OfRuns are those that moving runs on takes.
func (m Memory) OfRuns() outbound.Budgets {
	return outbound.Budgets{Calls: m.Calls, Growing: m.Growing, Computing: m.Compute, Brief: m.Brief, Planning: m.Planning, Processors: m.Processors}
}

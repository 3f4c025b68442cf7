package run

// Engine is what gives a run to the processes that move it on. A run finishes on the one that it
// began with.
type Engine string

// The engines.
const (
	EngineTable    Engine = "table"    // the queue in the gateway's database
	EngineTemporal Engine = "temporal" // a Temporal server, to which that queue hands runs over
)

// BeginsOn is the engine that a new run begins on where e is that of the process that adds it. One of an item
// begins on the table: a loop has thousands of them, which mostly are over in a moment.
func (r *Run) BeginsOn(e Engine) Engine {
	if r.IsItem() {
		return EngineTable
	}
	return e
}

// BeginOn notes what a new run begins on, as [Run.BeginsOn] says it.
func (r *Run) BeginOn(e Engine) { r.state.Engine = r.BeginsOn(e) }

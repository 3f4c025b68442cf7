package language

import (
	"fmt"
	"sync"

	"github.com/sluicehq/sluice/domain/run"
)

// Machine is the state of one evaluation. A compiled expression is a tree of
// closures over it; what goes wrong leaves them as a panic with a *fault, which
// execute turns into an error, so that the closures stay free of error paths.
type Machine struct {
	values  map[string]any
	env     *run.Env
	slots   []any     // the parameters of arrow functions, each at a place of its own
	stack   []any     // the arguments of the calls under way
	deepest int       // how many arguments the stack was counted for
	callers []*caller // of the methods under way that call a function, and spare ones
	calling int       // how many of them are under way
	source  string    // what is evaluated, and the path to it, for faults
	path    string
	at      int // the byte of the text that is evaluated, for faults
	steps   int // left
	memory  int // left
	depth   int // left
	limits  Limits
}

// Eval computes a value on a machine.
type Eval func(*Machine) any

// freeSlots is how many parameters, and how many arguments at a time, an evaluation has
// room for at no cost.
const freeSlots = 64

var machines = sync.Pool{New: func() any { return new(Machine) }}

// execute runs the work on a machine with a full budget.
func execute(text string, limits Limits, slots int, env *run.Env, work func(*Machine) any) (result any, err error) {
	m := machines.Get().(*Machine)
	m.values, m.env, m.limits, m.source, m.path = env.Values, env, limits, text, ""
	m.steps, m.memory, m.depth = limits.Steps, limits.Memory, limits.Depth
	m.deepest, m.calling = freeSlots, 0
	defer func() {
		if thrown := recover(); thrown != nil {
			f, ok := thrown.(*fault)
			if !ok {
				panic(thrown)
			}
			result, err = nil, m.evaluationError(f)
		}
		env.Meter.Add(m.used())
		m.release()
	}()
	if slots > freeSlots {
		m.spend(slots>>3, 16*slots)
	}
	if cap(m.slots) < slots {
		m.slots = make([]any, slots)
	}
	m.slots = m.slots[:slots]
	return work(m), nil
}

func (m *Machine) release() {
	clear(m.slots)
	if m.slots = m.slots[:0]; cap(m.slots) > 1024 {
		m.slots = nil
	}
	m.stack = m.stack[:cap(m.stack)]
	if len(m.stack) > 1024 {
		m.stack = nil
	}
	clear(m.stack)
	m.stack = m.stack[:0]
	for _, c := range m.callers {
		*c = caller{}
	}
	m.values, m.env = nil, nil
	machines.Put(m)
}

func (m *Machine) evaluationError(f *fault) error {
	found := f.problem(m.source)
	found.Path = m.path
	switch f.code {
	case CodeSteps, CodeMemory, CodeNesting:
		return &BudgetError{found}
	}
	return &EvaluationError{found}
}

// fault describes what went wrong where the machine stands.
func (m *Machine) fault(code, format string, args ...any) *fault {
	return &fault{at: m.at, code: code, message: fmt.Sprintf(format, args...)}
}

// step counts one operation.
func (m *Machine) step() {
	if m.steps--; m.steps < 0 {
		m.exhausted(CodeSteps)
	}
}

// work counts reading n bytes of text.
func (m *Machine) work(n int) {
	if m.steps -= n >> 6; m.steps < 0 {
		m.exhausted(CodeSteps)
	}
}

// alloc counts n bytes, before they are allocated, and the steps that clearing and
// filling them takes.
func (m *Machine) alloc(n int) {
	if m.memory -= n; m.memory < 0 || n < 0 {
		m.exhausted(CodeMemory)
	}
	if m.steps -= n >> 9; m.steps < 0 {
		m.exhausted(CodeSteps)
	}
}

// spend counts both.
func (m *Machine) spend(steps, bytes int) {
	if m.steps -= steps; m.steps < 0 {
		m.exhausted(CodeSteps)
	}
	m.alloc(bytes)
}

// pass counts n values that are only passed on, each a small part of an operation.
func (m *Machine) pass(n int) {
	if m.steps -= n >> 3; m.steps < 0 {
		m.exhausted(CodeSteps)
	}
}

// enter counts one level of nested data; leave it by m.depth++.
func (m *Machine) enter() {
	if m.depth--; m.depth < 0 {
		m.exhausted(CodeNesting)
	}
}

func (m *Machine) exhausted(code string) {
	switch code {
	case CodeSteps:
		panic(m.fault(code, "must be done within %d steps; give it less data or compute less", m.limits.Steps))
	case CodeMemory:
		panic(m.fault(code, "must be done within %d bytes of memory; build less text and fewer values", m.limits.Memory))
	}
	panic(m.fault(code, "must not nest data deeper than %d levels", m.limits.Depth))
}

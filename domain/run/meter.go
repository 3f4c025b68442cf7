package run

// Meter counts what evaluations cost.
type Meter struct {
	Steps  int64 // operations, elements visited and pieces of text read, of all evaluations
	Memory int64 // bytes of values created by the one that created most
}

// Add counts an evaluation. A nil meter counts nothing.
func (m *Meter) Add(steps, memory int64) {
	if m != nil {
		m.Steps += steps
		m.Memory = max(m.Memory, memory)
	}
}

package language

func listAt(m *Machine, a []any, args []any) any {
	i := m.integer(argumentAt(args, 0))
	if i < 0 {
		i += float64(len(a))
	}
	if i < 0 || i >= float64(len(a)) {
		return undefined
	}
	return m.read(a[int(i)])
}

func listConcat(m *Machine, a []any, args []any) any {
	m.spend(len(a), 40+16*len(a))
	size := len(a)
	for _, arg := range args {
		if elems, ok := elements(arg); ok {
			m.spend(len(elems), 32*len(elems))
			size += len(elems)
		} else {
			m.spend(1, 32)
			size++
		}
	}
	joined := append(make([]any, 0, size), a...)
	for _, arg := range args {
		if elems, ok := elements(arg); ok {
			joined = append(joined, elems...)
		} else {
			joined = append(joined, arg)
		}
	}
	return &array{elems: joined}
}

func listIncludes(m *Machine, a []any, args []any) any {
	wanted := argumentAt(args, 0)
	for _, e := range a[m.bound(argumentAt(args, 1), len(a), 0):] {
		if m.step(); m.sameValueZero(m.read(e), wanted) {
			return true
		}
	}
	return false
}

func listIndexOf(m *Machine, a []any, args []any) any {
	wanted := argumentAt(args, 0)
	for i := m.bound(argumentAt(args, 1), len(a), 0); i < len(a); i++ {
		if m.step(); m.strictEquals(m.read(a[i]), wanted) {
			return float64(i)
		}
	}
	return -1.0
}

func listLastIndexOf(m *Machine, a []any, args []any) any {
	wanted, last := argumentAt(args, 0), float64(len(a)-1)
	if len(args) > 1 {
		if last = m.integer(args[1]); last < 0 {
			last += float64(len(a))
		}
		last = min(last, float64(len(a)-1))
	}
	for i := int(max(last, -1)); i >= 0; i-- {
		if m.step(); m.strictEquals(m.read(a[i]), wanted) {
			return float64(i)
		}
	}
	return -1.0
}

func listJoin(m *Machine, a []any, args []any) any {
	separator := ","
	if given := argumentAt(args, 0); given != undefined {
		separator = m.text(given)
	}
	return m.join(a, separator)
}

func listReverse(m *Machine, a []any, _ []any) any {
	m.spend(len(a), 0)
	reversed := m.list(a)
	for i, j := 0, len(a)-1; i < j; i, j = i+1, j-1 {
		reversed.elems[i], reversed.elems[j] = reversed.elems[j], reversed.elems[i]
	}
	return reversed
}

func listSlice(m *Machine, a []any, args []any) any {
	from, to := m.bound(argumentAt(args, 0), len(a), 0), m.bound(argumentAt(args, 1), len(a), float64(len(a)))
	m.spend(max(to-from, 0), 0)
	return m.list(a[from:max(from, to)])
}

func listFlat(m *Machine, a []any, args []any) any {
	depth := 1.0
	if given := argumentAt(args, 0); given != undefined {
		depth = m.integer(given)
	}
	return &array{elems: m.flatten(nil, a, depth)}
}

// flatten appends the elements, those of arrays among them down to the depth.
func (m *Machine) flatten(to, a []any, depth float64) []any {
	m.enter()
	defer func() { m.depth++ }()
	for _, e := range a {
		m.spend(1, 32)
		if inner, ok := elements(e); ok && depth >= 1 {
			to = m.flatten(to, inner, depth-1)
		} else {
			to = append(to, e)
		}
	}
	return to
}

// caller calls a function for the elements of an array.
type caller struct {
	m    *Machine
	f    *function
	v    any // the array
	args [manyArguments]any
}

// caller returns one that is not under way; it is given back by m.calling--.
func (m *Machine) caller(f *function, v any) *caller {
	if m.calling == len(m.callers) {
		m.callers = append(m.callers, new(caller))
	}
	c := m.callers[m.calling]
	c.m, c.f, c.v, c.args = m, f, v, [manyArguments]any{}
	m.calling++
	return c
}

// call gives the function the element at i.
func (c *caller) call(a []any, i int) any {
	c.m.step()
	c.args[0] = c.m.read(a[i])
	if c.f.arity > 1 {
		c.args[1], c.args[2] = float64(i), c.v
	}
	return c.f.invoke(c.m, c.args[:3])
}

func listMap(m *Machine, v any, a []any, f *function, _ []any) any {
	m.alloc(40 + 16*len(a))
	mapped := make([]any, len(a))
	c := m.caller(f, v)
	defer func() { m.calling-- }()
	for i := range a {
		m.alloc(8)
		mapped[i] = c.call(a, i)
	}
	return &array{elems: mapped}
}

func listFilter(m *Machine, v any, a []any, f *function, _ []any) any {
	c := m.caller(f, v)
	defer func() { m.calling-- }()
	var kept []any
	for i, e := range a {
		if truthy(c.call(a, i)) {
			m.alloc(32)
			kept = append(kept, e)
		}
	}
	return &array{elems: kept}
}

func listFlatMap(m *Machine, v any, a []any, f *function, _ []any) any {
	c := m.caller(f, v)
	defer func() { m.calling-- }()
	var flat []any
	for i := range a {
		result := c.call(a, i)
		if inner, ok := elements(result); ok {
			m.spend(len(inner), 32*len(inner))
			flat = append(flat, inner...)
		} else {
			m.alloc(32)
			flat = append(flat, result)
		}
	}
	return &array{elems: flat}
}

// first returns the index of the first element that the function holds for, from
// the end with backwards, or -1.
func (m *Machine) first(v any, a []any, f *function, backwards bool) int {
	c := m.caller(f, v)
	defer func() { m.calling-- }()
	for n := range a {
		i := n
		if backwards {
			i = len(a) - 1 - n
		}
		if truthy(c.call(a, i)) {
			return i
		}
	}
	return -1
}

func (m *Machine) elementAt(a []any, i int) any {
	if i < 0 {
		return undefined
	}
	return m.read(a[i])
}

func listFind(m *Machine, v any, a []any, f *function, _ []any) any {
	return m.elementAt(a, m.first(v, a, f, false))
}

func listFindLast(m *Machine, v any, a []any, f *function, _ []any) any {
	return m.elementAt(a, m.first(v, a, f, true))
}

func listFindIndex(m *Machine, v any, a []any, f *function, _ []any) any {
	return float64(m.first(v, a, f, false))
}

func listFindLastIndex(m *Machine, v any, a []any, f *function, _ []any) any {
	return float64(m.first(v, a, f, true))
}

func listSome(m *Machine, v any, a []any, f *function, _ []any) any {
	return m.first(v, a, f, false) >= 0
}

func listEvery(m *Machine, v any, a []any, f *function, _ []any) any {
	c := m.caller(f, v)
	defer func() { m.calling-- }()
	for i := range a {
		if !truthy(c.call(a, i)) {
			return false
		}
	}
	return true
}

func listReduce(m *Machine, v any, a []any, f *function, args []any) any {
	return m.reduce(v, a, f, args, false)
}

func listReduceRight(m *Machine, v any, a []any, f *function, args []any) any {
	return m.reduce(v, a, f, args, true)
}

func (m *Machine) reduce(v any, a []any, f *function, args []any, backwards bool) any {
	at := func(n int) int {
		if backwards {
			return len(a) - 1 - n
		}
		return n
	}
	var result any
	n := 0
	switch {
	case len(args) > 0:
		result = args[0]
	case len(a) == 0:
		panic(m.fault(CodeBadArgument, "reduce of an empty array needs an initial value: reduce((sum, x) => sum + x, 0)"))
	default:
		result = m.read(a[at(0)])
		n = 1
	}
	c := m.caller(f, v)
	defer func() { m.calling-- }()
	buffer := c.args[:]
	for ; n < len(a); n++ {
		m.spend(1, 8)
		buffer[0], buffer[1] = result, m.read(a[at(n)])
		if f.arity > 2 {
			buffer[2], buffer[3] = float64(at(n)), v
		}
		result = f.invoke(m, buffer)
	}
	return result
}

package language

// listSort is sort and toSorted: a copy in stable order, undefined last. Without a
// function it orders by text, as JavaScript does.
func listSort(m *Machine, _ any, a []any, f *function, _ []any) any {
	m.spend(len(a), 16*len(a))
	sorted := &array{elems: make([]any, 0, len(a))}
	missing := 0
	for _, e := range a {
		if e = m.read(e); e == undefined {
			missing++
		} else {
			sorted.elems = append(sorted.elems, e)
		}
	}
	m.alloc(16 * len(a))
	if f == nil {
		m.sortByText(sorted.elems)
	} else {
		c := m.caller(f, nil)
		defer func() { m.calling-- }()
		buffer := c.args[:2]
		mergeSort(m, sorted.elems, make([]any, len(sorted.elems)), func(x, y any) bool {
			buffer[0], buffer[1] = x, y
			return m.number(f.invoke(m, buffer)) > 0
		})
	}
	for range missing {
		sorted.elems = append(sorted.elems, undefined)
	}
	return sorted
}

// sortByText sorts by what each element is as text, which is made once.
func (m *Machine) sortByText(a []any) {
	type element struct {
		value any
		text  string
	}
	m.alloc(32 * len(a))
	elems := make([]element, len(a))
	for i, e := range a {
		elems[i] = element{e, m.text(e)}
	}
	mergeSort(m, elems, make([]element, len(a)), func(x, y element) bool { return m.compareText(x.text, y.text) > 0 })
	for i, e := range elems {
		a[i] = e.value
	}
}

// mergeSort sorts a; after tells that x belongs after y. Unlike the sorting of
// the standard library, every comparator leaves it in an order that depends on
// nothing else, so that replays agree for those that contradict themselves, too.
func mergeSort[T any](m *Machine, a, spare []T, after func(x, y T) bool) {
	if len(a) < 2 {
		return
	}
	middle := len(a) / 2
	mergeSort(m, a[:middle], spare[:middle], after)
	mergeSort(m, a[middle:], spare[middle:], after)
	copy(spare, a)
	left, right := spare[:middle], spare[middle:len(a)]
	for i := range a {
		m.step()
		if len(right) == 0 || len(left) > 0 && !after(left[0], right[0]) {
			a[i], left = left[0], left[1:]
		} else {
			a[i], right = right[0], right[1:]
		}
	}
}

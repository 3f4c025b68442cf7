package language

import "strings"

// probeSize is how many bytes of a text that is looked for are looked for by the standard
// library, whose search for longer ones may compare them in full at one place in sixteen.
const probeSize = 32

// search returns where p stands in s for the first time, or -1. The caller has counted
// reading s once; what is compared beyond that is counted here.
func (m *Machine) search(s, p string) int {
	if len(p) <= probeSize {
		return strings.Index(s, p)
	}
	probe, from := p[:probeSize], 0
	for {
		i := strings.Index(s[from:], probe)
		if i < 0 || len(s)-from-i < len(p) {
			return -1
		}
		from += i
		m.spend(1, 0)
		if m.work(len(p)); s[from:from+len(p)] == p {
			return from
		}
		from++
	}
}

// searchLast is search from the end.
func (m *Machine) searchLast(s, p string) int {
	if len(p) <= probeSize {
		return strings.LastIndex(s, p)
	}
	probe, to := p[len(p)-probeSize:], len(s)
	for {
		i := strings.LastIndex(s[:to], probe)
		from := i + probeSize - len(p)
		if i < 0 || from < 0 {
			return -1
		}
		m.spend(1, 0)
		if m.work(len(p)); s[from:from+len(p)] == p {
			return from
		}
		to = i + probeSize - 1
	}
}

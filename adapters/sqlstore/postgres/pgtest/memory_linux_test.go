package pgtest

import "testing"

func TestTheMemoryThatIsLeftIsReadOffWhatTheKernelSays(t *testing.T) {
	for said, want := range map[string]uint64{
		"MemTotal:       24593184 kB\nMemFree:        21000000 kB\nMemAvailable:   22020096 kB\nBuffers:          1000 kB\n": 22020096 << 10,
		"MemAvailable: 7 kB":              7 << 10,
		"MemTotal: 7 kB\nMemFree: 7 kB\n": 0, "MemAvailable: much kB\n": 0, "": 0,
	} {
		if got := available(said); got != want {
			t.Errorf("%q: %d, want %d", said, got, want)
		}
	}
}

package system_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/system"
)

func BenchmarkID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = system.Random{}.ID("req")
	}
}

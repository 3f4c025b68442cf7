package postgres

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"
)

func FuzzTextArray(f *testing.F) {
	f.Add("", "plain", `{"a":"b\\c"}`)
	f.Add(`"`, `\`, `{,}`)
	f.Add("NULL", "\n\t é", "''")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, texts := range [][]string{{}, {a}, {a, b}, {a, b, c}} {
			value, err := textArray(texts).Value()
			if err != nil {
				t.Fatal(err)
			}
			var read pq.StringArray
			if err := read.Scan(value); err != nil {
				t.Fatalf("%s: %v", value, err)
			}
			if diff := cmp.Diff(texts, []string(read)); diff != "" {
				t.Errorf("%s reads as (-sent +read):\n%s", value, diff)
			}
		}
	})
}

// BenchmarkTextArray compares a column of configurations with the driver's own array.
func BenchmarkTextArray(b *testing.B) {
	column := make([]string, 48)
	for i := range column {
		column[i] = `{"webhookConfig":{"event":"order.created"},"rateLimit":{"maxRequests":100,"windowMs":60000}}` + strings.Repeat(" ", i)
	}
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = textArray(column).Value()
		}
	})
	b.Run("the driver's", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = pq.StringArray(column).Value()
		}
	})
}

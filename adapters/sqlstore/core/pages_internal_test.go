package core

import (
	"fmt"
	"testing"
)

func TestPagesAreKeptWithinTheirBounds(t *testing.T) {
	t.Parallel()
	for claim, one := range map[string]keptPage{
		"of many records": {records: 100, bytes: 100 << 4}, "of large ones": {records: 1, bytes: maxKeptPage}, "of a few": {records: 20, bytes: 20 << 10},
	} {
		var p pages
		for i := range 3 * max(maxKept/one.records, maxKeptBytes/one.bytes) / 2 {
			key := fmt.Sprint("page ", i)
			for range 2 { // the second time in place of itself
				p.put(key, one)
			}
			if _, ok := p.get(key); !ok {
				t.Fatalf("%s: the newest page is not kept", claim)
			}
			if p.records != len(p.kept)*one.records || p.records > maxKept || p.bytes > maxKeptBytes {
				t.Fatalf("%s: %d pages have %d records and %d bytes", claim, len(p.kept), p.records, p.bytes)
			}
		}
		bytes := 0
		for key := range p.kept {
			bytes += one.bytes + len(key)
		}
		if full := p.records > maxKept*9/10 || p.bytes > maxKeptBytes*9/10; bytes != p.bytes || !full {
			t.Errorf("%s: %d pages have %d records and %d bytes, and %d are counted", claim, len(p.kept), p.records, bytes, p.bytes)
		}
	}
}

func TestALargePageIsNotKept(t *testing.T) {
	t.Parallel()
	var p pages
	p.put("small", keptPage{records: 1, bytes: 1})
	p.put("large", keptPage{records: 1, bytes: maxKeptPage + 1})
	_, small := p.get("small")
	if _, large := p.get("large"); !small || large {
		t.Errorf("the small one is kept: %v; the large one: %v", small, large)
	}
}

package exchange

import (
	"fmt"
	"testing"
)

func stamped(i int) pageKey { return pageKey{stamp: fmt.Sprint(i)} }

func textOf(size int) cachedPage { return cachedPage{text: make([]byte, size)} }

func TestCachedPagesStayWithinTheirBounds(t *testing.T) {
	t.Parallel()
	var p pageCache
	p.put(stamped(0), textOf(maxPageText+1))
	if _, ok := p.get(stamped(0)); ok {
		t.Error("a text above the bound of one is kept")
	}
	for range 2 {
		p.put(stamped(1), cachedPage{text: make([]byte, 10, maxPageText)})
	}
	if page, ok := p.get(stamped(1)); !ok || len(page.text) != 10 || p.bytes != maxPageText {
		t.Errorf("of one text of %d bytes, %d are counted", len(page.text), p.bytes)
	}
	for i := range 3 * maxPageBytes / maxPageText {
		p.put(stamped(i), textOf(maxPageText))
		if _, ok := p.get(stamped(i)); !ok {
			t.Fatal("the newest text is not kept")
		}
		held := 0
		for _, generation := range []map[pageKey]cachedPage{p.new, p.old} {
			for _, page := range generation {
				held += cap(page.text)
			}
		}
		if held > maxPageBytes {
			t.Fatalf("%d bytes are held", held)
		}
	}
}

func TestAPageThatIsReadOftenStaysThroughManyThatAreReadOnce(t *testing.T) {
	t.Parallel()
	var p pageCache
	popular := pageKey{stamp: "popular"}
	p.put(popular, textOf(1000))
	for i := range 20 * maxPageBytes / maxPageText {
		p.put(stamped(i), textOf(maxPageText))
		if _, ok := p.get(popular); !ok {
			t.Fatalf("it was dropped after %d others", i+1)
		}
	}
}

func TestAPageWithoutAStampIsNotCached(t *testing.T) {
	t.Parallel()
	var p pageCache
	p.put(pageKey{}, textOf(1000))
	if _, ok := p.get(pageKey{}); ok || len(p.new) > 0 {
		t.Error("it is kept, and would be another page's answer")
	}
}

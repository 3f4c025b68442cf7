package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain"
)

// AnswerCached answers as [AnswerList] does, with an ETag, and keeps the text for requests
// that find the same page.
func AnswerCached[T any](c *gin.Context, l *ListRequest, render func(T) any, read func(domain.Query) (domain.Page[T], error)) error {
	if err := l.Check(c); err != nil {
		return err
	}
	found, err := read(l.Query())
	if err != nil {
		return err
	}
	return answerCached(c, l, found, render)
}

func answerCached[T any](c *gin.Context, l *ListRequest, found domain.Page[T], render func(T) any) error {
	cache := &StateOf(c).exchange.pages
	key := pageKey{found.Stamp, l.PageBased}
	page, ok := cache.get(key)
	if !ok {
		text, err := Encode(RenderList(l, found, render))
		if err != nil {
			return err
		}
		digest := sha256.Sum256(text)
		page = cachedPage{text, strconv.Quote(hex.EncodeToString(digest[:16]))}
		cache.put(key, page)
	}
	if notModified(c, page.etag) {
		return nil
	}
	Write(c, http.StatusOK, page.text)
	return nil
}

// The texts of all cached pages together, and of each of them, have at most so many bytes.
const (
	maxPageBytes = 4 << 20
	maxPageText  = 128 << 10
)

// pageCache keeps the texts of pages in two generations. A text that is used moves to the
// new one; when that is full, the old one goes with all that was not used meanwhile.
type pageCache struct {
	mu       sync.RWMutex
	new, old map[pageKey]cachedPage
	bytes    int // of new
}

type pageKey struct {
	stamp     string // of the page
	pageBased bool   // the envelope
}

type cachedPage struct {
	text []byte
	etag string
}

func (p *pageCache) get(key pageKey) (cachedPage, bool) {
	p.mu.RLock()
	page, ok := p.new[key]
	if ok {
		p.mu.RUnlock()
		return page, true
	}
	page, ok = p.old[key]
	p.mu.RUnlock()
	if ok {
		p.put(key, page)
	}
	return page, ok
}

// put keeps a page, unless it has no stamp by which it could be found again.
func (p *pageCache) put(key pageKey, page cachedPage) {
	size := cap(page.text)
	if key.stamp == "" || size > maxPageText {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.new[key]; known {
		return
	}
	if p.new == nil || p.bytes+size > maxPageBytes/2 {
		p.new, p.old, p.bytes = make(map[pageKey]cachedPage), p.new, 0
	}
	p.new[key] = page
	p.bytes += size
}

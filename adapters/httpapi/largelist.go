package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// smallPage is how many bytes the records of a page may have together for it to be read
// and answered without further ado. A page above it is read when its turn has come and
// there is room for it, and is no larger than what one tenant may hold.
const smallPage = 256 << 10

// errListsBusy says that there was no room for a page, or no turn to read it.
var errListsBusy = func() error {
	e := domain.Fail(domain.Unavailable, "lists_busy",
		"Too many large pages and runs are being read at the moment. Try again in a second, or ask for fewer records at a time with limit.")
	e.RetryAfter = time.Second
	return e
}()

// largeList is a list whose records may be large.
type largeList[T any] struct {
	read   func(domain.Query) (domain.Page[T], error)
	render func(T) any

	// write writes what render makes of a record, without encoding it as a whole; nil where
	// that is not worth it.
	write func(*pieces, T)

	known bool // pages are answered as [answerKnownList] does
}

// answerLargeList reads a page and writes it. One that is large is held until its reader
// has it or is gone.
func answerLargeList[T any](a *API, c *gin.Context, who tenant.Caller, l *listRequest, list largeList[T]) error {
	q := l.wanted()
	q.MaxBytes = smallPage
	found, err := list.read(q)
	var size *domain.PageTooLarge
	switch {
	case errors.As(err, &size):
		return list.answerLarge(a, c, who, l, size)
	case err != nil:
		return err
	case list.known:
		return answerKnownList(a, c, l, found, list.render)
	default:
		return answerList(c, l, found, list.render)
	}
}

func (list largeList[T]) answerLarge(a *API, c *gin.Context, who tenant.Caller, l *listRequest, size *domain.PageTooLarge) error {
	held := a.pagesFor(who)
	defer held.release()
	found, err := list.hold(c.Request.Context(), a, l.wanted(), size, held)
	if err != nil {
		return err
	}
	return writeInPieces(c, http.StatusOK, largePage[T]{list, found, l.PageBased})
}

// hold takes room for a page whose size is known, and reads it. Where it has grown
// meanwhile it begins anew: whoever waits for room has no records, and whoever has a turn
// waits for nothing.
func (list largeList[T]) hold(ctx context.Context, a *API, q domain.Query, size *domain.PageTooLarge, held *reservation) (domain.Page[T], error) {
	waiting, stop := a.patiently(ctx, errListsBusy)
	defer stop()
	for {
		if most := a.mostPage(); size.Bytes > most {
			return domain.Page[T]{}, &domain.PageTooLarge{Records: size.Records, Bytes: size.Bytes, MaxBytes: most}
		}
		q.MaxBytes = max(size.Bytes, smallPage)
		if err := held.replace(waiting, q.MaxBytes); err != nil {
			return domain.Page[T]{}, err
		}
		found, err := list.readInTurn(waiting, a, q)
		if !errors.As(err, &size) {
			return found, err
		}
		if waiting.Err() != nil {
			return domain.Page[T]{}, context.Cause(waiting)
		}
	}
}

// mostPage is how many bytes a page has at most: as much as one tenant may hold in two.
func (a *API) mostPage() int { return int(a.opts.Pages.Most() / 2) }

func (list largeList[T]) readInTurn(waiting context.Context, a *API, q domain.Query) (domain.Page[T], error) {
	if err := a.reading.enter(waiting); err != nil {
		return domain.Page[T]{}, err
	}
	defer a.reading.leave()
	return list.read(q)
}

// largePage is a page that is written record by record, as [listBody] is otherwise.
type largePage[T any] struct {
	list      largeList[T]
	found     domain.Page[T]
	pageBased bool
}

func (b largePage[T]) writeTo(p *pieces) {
	frame, page := frameOf(b.found), pageOf(b.found)
	p.text(`{"items":`)
	b.items(p)
	p.rest(&frame)
	if b.pageBased {
		p.member("data")
		b.items(p)
		p.rest(&page)
	}
	p.close()
}

func (b largePage[T]) items(p *pieces) {
	p.array(len(b.found.Items), func(i int) {
		if item := b.found.Items[i]; b.list.write != nil {
			b.list.write(p, item)
		} else {
			p.value(b.list.render(item))
		}
	})
}

package exchange

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// smallPage is how many bytes the records of a page may have together for it to be read
// and answered at once. A larger page waits for its turn and for memory.
const smallPage = 256 << 10

// ErrListsBusy says that there was no memory for a page, or no turn to read it.
var ErrListsBusy = Busy("lists_busy",
	"Too many large pages and runs are being read at the moment. Try again in a second, or ask for fewer records at a time with limit.")

// LargeList is a list whose records may be large.
type LargeList[T any] struct {
	Read   func(domain.Query) (domain.Page[T], error)
	Render func(T) any

	// Write writes what Render makes of a record, without encoding it as a whole; nil where
	// that is not worth it.
	Write func(*stream.Encoder, T)

	Cached bool // pages are answered as [AnswerCached] does
}

// AnswerLargeList reads a page and writes it. A large one is held until its reader has it
// or is gone.
func AnswerLargeList[T any](c *gin.Context, who tenant.Caller, l *ListRequest, list LargeList[T]) error {
	if err := l.Check(c); err != nil {
		return err
	}
	q := l.Query()
	q.MaxBytes = smallPage
	found, err := list.Read(q)
	var size *domain.PageTooLarge
	switch {
	case errors.As(err, &size):
		return list.answerLarge(c, who, l, size)
	case err != nil:
		return err
	case list.Cached:
		return answerCached(c, l, found, list.Render)
	default:
		return WriteJSON(c, http.StatusOK, RenderList(l, found, list.Render))
	}
}

func (list LargeList[T]) answerLarge(c *gin.Context, who tenant.Caller, l *ListRequest, size *domain.PageTooLarge) error {
	memory := StateOf(c).exchange.Memory
	held := stream.Reserve(memory.Pages, who.Tenant())
	defer held.Release()
	found, err := list.hold(c.Request.Context(), memory, l.Query(), size, &held)
	if err != nil {
		return err
	}
	return WriteJSON(c, http.StatusOK, largePage[T]{list, found, l.PageBased})
}

// hold reserves memory for a page whose size is known, and reads it. If it has grown
// meanwhile it begins again: who waits for memory holds no records, and who has a turn
// waits for nothing.
func (list LargeList[T]) hold(ctx context.Context, memory *stream.Memory, q domain.Query, size *domain.PageTooLarge, held *stream.Reservation) (domain.Page[T], error) {
	waiting, stop := memory.Wait(ctx, ErrListsBusy)
	defer stop()
	for {
		if most := memory.MaxPage(); size.Bytes > most {
			return domain.Page[T]{}, &domain.PageTooLarge{Records: size.Records, Bytes: size.Bytes, MaxBytes: most}
		}
		q.MaxBytes = max(size.Bytes, smallPage)
		if err := held.Replace(waiting, q.MaxBytes); err != nil {
			return domain.Page[T]{}, err
		}
		found, err := list.readInTurn(waiting, memory, q)
		if !errors.As(err, &size) {
			return found, err
		}
		if waiting.Err() != nil {
			return domain.Page[T]{}, context.Cause(waiting)
		}
	}
}

func (list LargeList[T]) readInTurn(waiting context.Context, memory *stream.Memory, q domain.Query) (domain.Page[T], error) {
	if err := memory.Reading.Acquire(waiting); err != nil {
		return domain.Page[T]{}, err
	}
	defer memory.Reading.Release()
	return list.Read(q)
}

// largePage is a page that is written record by record, as [ListBody] is otherwise.
type largePage[T any] struct {
	list      LargeList[T]
	found     domain.Page[T]
	pageBased bool
}

// EncodeTo writes the page.
func (b largePage[T]) EncodeTo(e *stream.Encoder) {
	frame, page := frameOf(b.found), pageOf(b.found)
	e.Text(`{"items":`)
	b.items(e)
	e.Members(&frame)
	if b.pageBased {
		e.Name("data")
		b.items(e)
		e.Members(&page)
	}
	e.Close()
}

func (b largePage[T]) items(e *stream.Encoder) {
	e.Array(len(b.found.Items), func(i int) {
		if item := b.found.Items[i]; b.list.Write != nil {
			b.list.Write(e, item)
		} else {
			e.Value(b.list.Render(item))
		}
	})
}

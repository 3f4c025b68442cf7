package egress

import (
	"errors"
	"io"
	"net/http"

	"github.com/sluicehq/sluice/domain"
)

// limitedBody gives at most limit bytes of an answer and fails where there are more,
// so that nothing is ever taken for the whole that is not.
type limitedBody struct {
	from     io.ReadCloser
	req      *http.Request
	limit    int64
	done     func() // lets go of the call's time
	read     int64
	tooLarge bool // known before the first byte, from the answer's Content-Length
}

// Read gives the error response_too_large in place of the byte after the limit.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.tooLarge {
		return 0, b.excess()
	}
	// One byte more than is still permitted shows whether an answer ends at the limit.
	if most := b.limit - b.read + 1; int64(len(p)) > most {
		p = p[:most]
	}
	n, err := b.from.Read(p)
	if b.read += int64(n); b.read > b.limit {
		b.tooLarge = true
		return n - 1, b.excess()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = explain(b.req, err)
	}
	return n, err
}

// Close ends the answer, read or not.
func (b *limitedBody) Close() error {
	defer b.done()
	return b.from.Close()
}

func (b *limitedBody) excess() error {
	return domain.Fail(domain.Forbidden, codeTooLarge, "The answer of %s is longer than the permitted %d bytes.", shown(b.req.URL), b.limit)
}

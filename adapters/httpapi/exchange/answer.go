package exchange

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/stream"
)

const contentTypeJSON = "application/json; charset=utf-8"

// Encode returns a value as JSON. Characters that matter only inside HTML stay as they are,
// and a document keeps its own spelling.
func Encode(value any) ([]byte, error) { return encodeAfter("", value) }

func encodeAfter(prefix string, value any) ([]byte, error) {
	if large, ok := value.(stream.Body); ok {
		return stream.Marshal(prefix, large)
	}
	b := bytes.NewBufferString(prefix)
	if err := stream.NewJSON(b).Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// WriteJSON answers with a value. A large one that cannot be finished is cut off, so that
// nobody takes it for the whole.
func WriteJSON(c *gin.Context, status int, value any) error {
	if large, ok := value.(stream.Body); ok {
		begun, err := stream.Send(large, func(length int) io.Writer { setHead(c, status, length); return c.Writer })
		if begun && err != nil {
			StateOf(c).Cause = err
			panic(http.ErrAbortHandler)
		}
		return err
	}
	body, err := Encode(value)
	if err != nil {
		return err
	}
	Write(c, status, body)
	return nil
}

// Answer answers with what a read gave, or returns its error.
func Answer[T any](c *gin.Context, found T, err error, render func(T) any) error {
	if err := cmp.Or(err, ReportIgnored(c)); err != nil {
		return err
	}
	return WriteJSON(c, http.StatusOK, render(found))
}

// Values of headers that are the same for every answer.
var (
	jsonType = []string{contentTypeJSON}
	noSniff  = []string{"nosniff"}
	noStore  = []string{"no-store"}
)

// Write answers with JSON.
func Write(c *gin.Context, status int, body []byte) {
	setHead(c, status, len(body))
	_, _ = c.Writer.Write(body) // a client that is gone is noticed by the server
}

// setHead sets the status and the headers of a body.
func setHead(c *gin.Context, status, length int) {
	h := c.Writer.Header()
	h["Content-Type"], h["X-Content-Type-Options"], h["Cache-Control"] = jsonType, noSniff, noStore
	if length > MaxBuffered {
		h.Set("Content-Length", strconv.Itoa(length)) // else net/http sends it in chunks
	}
	c.Status(status)
}

// MaxBuffered is the length up to which net/http finds out itself how long an answer is.
const MaxBuffered = 2048

// Timestamp renders an instant as the API description says: ISO 8601 in UTC with milliseconds.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// OptionalTimestamp renders an instant that may be absent.
func OptionalTimestamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return Timestamp(*t)
}

// NoContent answers with nothing, as to a DELETE.
func NoContent(c *gin.Context) error {
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
	return nil
}

// Delete runs a deletion, which has no parameters, and answers with nothing.
func Delete(c *gin.Context, run func() error) error {
	if err := ReportIgnored(c); err != nil {
		return err
	}
	if err := run(); err != nil {
		return err
	}
	return NoContent(c)
}

package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

const contentType = "application/json; charset=utf-8"

// encode writes a value as JSON. Characters that matter only inside HTML stay as
// they are, and a document keeps its own spelling.
func encode(value any) ([]byte, error) {
	return encodeAfter("", value)
}

// encodeAfter writes it behind a prefix.
func encodeAfter(prefix string, value any) ([]byte, error) {
	if large, ok := value.(inPieces); ok {
		return inOne(prefix, large)
	}
	b := bytes.NewBufferString(prefix)
	if err := newEncoder(b).Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func newEncoder(to io.Writer) *json.Encoder {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return enc
}

func writeJSON(c *gin.Context, status int, value any) error {
	if large, ok := value.(inPieces); ok {
		return writeInPieces(c, status, large)
	}
	body, err := encode(value)
	if err != nil {
		return err
	}
	write(c, status, body)
	return nil
}

// Values of headers that are the same for every answer. Each holds one, so whoever adds
// a second gets a slice of its own.
var (
	jsonType = []string{contentType}
	noSniff  = []string{"nosniff"}
	noStore  = []string{"no-store"}
)

func write(c *gin.Context, status int, body []byte) {
	setHead(c, status, len(body))
	_, _ = c.Writer.Write(body) // a client that is gone is noticed by the server
}

// setHead sets what stands in front of a body of the length.
func setHead(c *gin.Context, status, length int) {
	h := c.Writer.Header()
	h["Content-Type"], h["X-Content-Type-Options"], h["Cache-Control"] = jsonType, noSniff, noStore
	if length > mostBuffered {
		h.Set("Content-Length", strconv.Itoa(length)) // else net/http sends it in chunks
	}
	c.Status(status)
}

// mostBuffered is how long an answer may be for net/http to find out its length itself.
const mostBuffered = 2048

// timestamp renders an instant as the specification asks: ISO 8601 in UTC with
// milliseconds.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// optionalTimestamp renders an instant that may be absent.
func optionalTimestamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return timestamp(*t)
}

// ceilUnix is the first whole Unix second that is not before t.
func ceilUnix(t time.Time) int64 { return int64(math.Ceil(float64(t.UnixMilli()) / 1000)) }

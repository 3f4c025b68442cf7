package httpapi

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

const contentType = "application/json; charset=utf-8"

// encode writes a value as JSON. Characters that matter only inside HTML stay as
// they are, and a document keeps its own spelling.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func writeJSON(c *gin.Context, status int, value any) error {
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
	h := c.Writer.Header()
	h["Content-Type"], h["X-Content-Type-Options"], h["Cache-Control"] = jsonType, noSniff, noStore
	if len(body) > mostBuffered {
		h.Set("Content-Length", strconv.Itoa(len(body))) // else net/http sends it in chunks
	}
	c.Status(status)
	_, _ = c.Writer.Write(body) // a client that is gone is noticed by the server
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

package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
)

// Reading a document of many small members takes twenty times its size for a moment,
// so bodies above largeBody bytes are read a few at a time.
const (
	largeBody   = 64 << 10
	largeBodies = 4
)

// readBody reads a request's JSON object. A missing body equals an empty object.
func (a *API) readBody(c *gin.Context) (jsonread.Object, error) {
	if err := checkContentType(c.GetHeader("Content-Type")); err != nil {
		return jsonread.Object{}, err
	}
	if c.Request.ContentLength > a.opts.MaxBody {
		// Nothing of it is read, so that a client that waits for 100 Continue does not send it.
		return jsonread.Object{}, errBodyTooLarge(a.opts.MaxBody)
	}
	reader := http.MaxBytesReader(c.Writer, c.Request.Body, a.opts.MaxBody)
	text, err := io.ReadAll(reader)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return jsonread.Object{}, errBodyTooLarge(a.opts.MaxBody)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return jsonread.Object{}, &transportError{http.StatusRequestTimeout, "body_too_slow",
			"The request body took too long to arrive. Send the request again."}
	case err != nil:
		return jsonread.Object{}, &transportError{http.StatusBadRequest, "body_unreadable",
			"The request body ended before it was complete."}
	}
	if len(text) > largeBody {
		select {
		case a.largeBodies <- struct{}{}:
			defer func() { <-a.largeBodies }()
		case <-c.Request.Context().Done():
			return jsonread.Object{}, c.Request.Context().Err()
		}
	}
	return jsonread.Parse(text)
}

func errBodyTooLarge(most int64) error {
	return &transportError{http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("The request body may be at most %d bytes.", most)}
}

// checkContentType refuses a body that says it is something else than JSON.
func checkContentType(header string) error {
	if header == "" {
		return nil
	}
	media, params, err := mime.ParseMediaType(header)
	isJSON := media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
	charset := params["charset"]
	if err == nil && isJSON && (charset == "" || strings.EqualFold(charset, "utf-8")) {
		return nil
	}
	return &transportError{http.StatusUnsupportedMediaType, "unsupported_media_type",
		"The request body must be JSON in UTF-8: send Content-Type: application/json."}
}

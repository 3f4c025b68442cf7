package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
)

// A body above smallBody bytes is read when memory is reserved for it: at first
// expectedBody times its size, which is enough for most, and when it is there what is made
// of it takes. Nobody waits for that while holding the body.
const (
	smallBody    = 4 << 10
	expectedBody = 8
)

// A body above smallBody bytes holds memory while it arrives, so that it has to within
// bodyWithin and the time that it takes at bodyPerSecond.
const (
	bodyWithin    = 5 * time.Second
	bodyPerSecond = 128 << 10
)

// parsedBody is how many bytes a body takes that is read: its bytes, the text and the parts
// that are cut out of it, a node of [jsonread] for each value and name, and what finds out
// whether a name occurs twice.
func parsedBody(w domain.JSONWeight) int64 {
	const node, unique = 16, 40
	return 4*w.Bytes + node*(w.Values+w.Names) + unique*w.Names
}

// savedBody is how many bytes a body takes that is saved and answered with.
func savedBody(w domain.JSONWeight) int64 { return parsedBody(w) + 6*w.Bytes }

// decodedBody is how many bytes a body takes whose documents are decoded, and checked copy
// by copy.
func decodedBody(w domain.JSONWeight) int64 { return parsedBody(w) + 2*w.Tree() }

// readBody reads a request's JSON object. A missing body equals an empty object. The memory
// for it is held until the request is answered.
func (a *API) readBody(c *gin.Context) (jsonread.Object, error) { return a.readWeighed(c, parsedBody) }

// readSaved reads a request's JSON object that is saved as it is.
func (a *API) readSaved(c *gin.Context) (jsonread.Object, error) { return a.readWeighed(c, savedBody) }

// readDocuments reads a request's JSON object that holds documents to check.
func (a *API) readDocuments(c *gin.Context) (jsonread.Object, error) {
	return a.readWeighed(c, decodedBody)
}

func (a *API) readWeighed(c *gin.Context, weigh func(domain.JSONWeight) int64) (jsonread.Object, error) {
	if err := checkContentType(c.GetHeader("Content-Type")); err != nil {
		return jsonread.Object{}, err
	}
	if c.Request.ContentLength > a.opts.MaxBody {
		// Nothing of it is read, so that a client that waits for 100 Continue does not send it.
		return jsonread.Object{}, errBodyTooLarge(a.opts.MaxBody)
	}
	text, err := a.receive(c)
	if err != nil {
		return jsonread.Object{}, unread(a, err)
	}
	if len(text) > smallBody {
		size := weigh(domain.WeighJSON(text))
		if size > a.opts.Intake.Most() {
			return jsonread.Object{}, errBodyTooComplex
		}
		if !a.intakeOf(c).resize(int(size)) {
			return jsonread.Object{}, errMemoryBusy
		}
	}
	return jsonread.Parse(text)
}

// unread says why a body could not be read.
func unread(a *API, err error) error {
	var tooLarge *http.MaxBytesError
	var known *domain.Error
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &tooLarge):
		return errBodyTooLarge(a.opts.MaxBody)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &transportError{http.StatusRequestTimeout, "body_too_slow",
			"The request body took too long to arrive. Send the request again."}
	}
	return &transportError{http.StatusBadRequest, "body_unreadable",
		"The request body ended before it was complete."}
}

// receive reads the bytes of a body.
func (a *API) receive(c *gin.Context) ([]byte, error) {
	if c.Request.Body == http.NoBody {
		return nil, nil
	}
	reader := http.MaxBytesReader(c.Writer, c.Request.Body, a.opts.MaxBody)
	length, known := c.Request.ContentLength, c.Request.ContentLength > 0
	if !known {
		length = smallBody
	}
	var text []byte
	for {
		if length > smallBody {
			if err := a.reserveBody(c, length, len(text) > smallBody); err != nil {
				return nil, err
			}
			defer a.limitTime(c, length)()
		}
		text = append(make([]byte, 0, length), text...)
		var err error
		for len(text) < cap(text) && err == nil {
			var n int
			n, err = reader.Read(text[len(text):cap(text)])
			text = text[:len(text)+n]
		}
		switch {
		case errors.Is(err, io.EOF) && (!known || int64(len(text)) == length), known && int64(len(text)) == length:
			return text, nil
		case err != nil:
			return nil, err
		}
		length = min(4*length, a.opts.MaxBody+1)
	}
}

// reserveBody reserves what a body of a length takes. One that has arrived in part does not
// wait.
func (a *API) reserveBody(c *gin.Context, length int64, arrived bool) error {
	held, size := a.intakeOf(c), int(expectedBody*length)
	if arrived {
		if !held.resize(size) {
			return errMemoryBusy
		}
		return nil
	}
	if held.tryReplace(size) {
		return nil
	}
	waiting, stop := a.patiently(c.Request.Context(), errMemoryBusy)
	defer stop()
	return held.replace(waiting, size)
}

// limitTime bounds how long a body of a length may take from now on, until it is called off.
func (a *API) limitTime(c *gin.Context, length int64) (stop func()) {
	within := bodyWithin + time.Duration(length)*time.Second/bodyPerSecond
	if a.opts.BodyTimeout > 0 {
		within = min(within, a.opts.BodyTimeout)
	}
	control := http.NewResponseController(c.Writer)
	_ = control.SetReadDeadline(time.Now().Add(within)) // a writer that cannot waits for longer
	return func() { _ = control.SetReadDeadline(time.Time{}) }
}

func errBodyTooLarge(most int64) error {
	return &transportError{http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("The request body may be at most %d bytes.", most)}
}

var errBodyTooComplex = &transportError{http.StatusRequestEntityTooLarge, "body_too_large",
	"The request body holds so many values that there is not enough memory to read them. Send fewer at a time."}

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

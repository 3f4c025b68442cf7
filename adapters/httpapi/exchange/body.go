package exchange

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

// A body above smallBody bytes is read when memory is reserved for it: first expectedBody
// times its size, and what it really takes once it is there.
const (
	smallBody    = 4 << 10
	expectedBody = 8
)

// A body above smallBody bytes holds memory while it arrives, so that it has to within
// bodyTimeout and the time that it takes at bodyPerSecond.
const (
	bodyTimeout   = 5 * time.Second
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

// ReadBody reads a request's JSON object with a function. A missing body equals an empty
// object. The memory for it is held until the request is answered. Members that the function
// does not ask for, and parameters, are reported as ignored, or refused; see [ReportIgnored].
func ReadBody[T any](c *gin.Context, read func(jsonread.Object) T) (T, error) {
	return readBody(c, parsedBody, nil, read)
}

// ReadResource reads a resource as [ReadBody] does. Members that Answer has, which the
// resource is answered with, are not reported: what was read can be sent back.
func ReadResource[Answer, T any](c *gin.Context, read func(jsonread.Object) T) (T, error) {
	return readBody(c, parsedBody, jsonread.ShapeOf[Answer](), read)
}

// ReadSaved reads a resource that is saved as it is.
func ReadSaved[Answer, T any](c *gin.Context, read func(jsonread.Object) T) (T, error) {
	return readBody(c, savedBody, jsonread.ShapeOf[Answer](), read)
}

// ReadDocuments reads a resource that holds documents to check.
func ReadDocuments[Answer, T any](c *gin.Context, read func(jsonread.Object) T) (T, error) {
	return readBody(c, decodedBody, jsonread.ShapeOf[Answer](), read)
}

// ReadNothing reads a body that says nothing to an operation on a resource, which may be the
// resource as Answer has it.
func ReadNothing[Answer any](c *gin.Context) error {
	_, err := ReadResource[Answer](c, func(jsonread.Object) struct{} { return struct{}{} })
	return err
}

func readBody[T any](c *gin.Context, weigh func(domain.JSONWeight) int64, known *jsonread.Shape, read func(jsonread.Object) T) (T, error) {
	var none T
	body, err := readWeighed(c, weigh)
	if err != nil {
		return none, err
	}
	state := StateOf(c)
	state.body = body
	found := read(body)
	return found, state.reportIgnored(c, body.Ignored(known))
}

func readWeighed(c *gin.Context, weigh func(domain.JSONWeight) int64) (jsonread.Object, error) {
	x := StateOf(c).exchange
	if err := checkContentType(c.GetHeader("Content-Type")); err != nil {
		return jsonread.Object{}, err
	}
	if c.Request.ContentLength > x.MaxBody {
		// Nothing of it is read, so that a client that waits for 100 Continue does not send it.
		return jsonread.Object{}, errBodyTooLarge(x.MaxBody)
	}
	text, err := x.receive(c, x.MaxBody)
	if err != nil {
		return jsonread.Object{}, x.unreadable(err, x.MaxBody)
	}
	if len(text) > smallBody {
		size := weigh(domain.WeighJSON(text))
		if size > x.Memory.Intake.Max() {
			return jsonread.Object{}, errBodyTooComplex
		}
		if !StateOf(c).Intake().Resize(int(size)) {
			return jsonread.Object{}, errMemoryBusy
		}
	}
	return jsonread.Parse(text)
}

// ReadRaw reads the bytes of a body of any type, of which there may be so many. The memory for them, and what becomes of them,
// is held until the request is answered.
func ReadRaw(c *gin.Context, most int64) ([]byte, error) {
	x := StateOf(c).exchange
	if c.Request.ContentLength > most {
		return nil, errBodyTooLarge(most)
	}
	text, err := x.receive(c, most)
	if err != nil {
		return nil, x.unreadable(err, most)
	}
	return text, nil
}

// unreadable says why a body could not be read.
func (x *Exchange) unreadable(err error, most int64) error {
	var tooLarge *http.MaxBytesError
	var known *domain.Error
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &tooLarge):
		return errBodyTooLarge(most)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &TransportError{http.StatusRequestTimeout, "body_too_slow",
			"The request body took too long to arrive. Send the request again."}
	}
	return &TransportError{http.StatusBadRequest, "body_unreadable",
		"The request body ended before it was complete."}
}

// receive reads the bytes of a body.
func (x *Exchange) receive(c *gin.Context, most int64) ([]byte, error) {
	if c.Request.Body == http.NoBody {
		return nil, nil
	}
	reader := http.MaxBytesReader(c.Writer, c.Request.Body, most)
	length, known := c.Request.ContentLength, c.Request.ContentLength > 0
	if !known {
		length = smallBody
	}
	var text []byte
	for {
		if length > smallBody {
			if err := x.reserveBody(c, length, len(text) > smallBody); err != nil {
				return nil, err
			}
			defer x.limitTime(c, length)()
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
		length = min(4*length, most+1)
	}
}

// reserveBody reserves what a body of a length takes. One that has arrived in part does not
// wait.
func (x *Exchange) reserveBody(c *gin.Context, length int64, arrived bool) error {
	held, size := StateOf(c).Intake(), int(expectedBody*length)
	if arrived {
		if !held.Resize(size) {
			return errMemoryBusy
		}
		return nil
	}
	if held.TryReplace(size) {
		return nil
	}
	waiting, stop := x.Memory.Wait(c.Request.Context(), errMemoryBusy)
	defer stop()
	return held.Replace(waiting, size)
}

// limitTime bounds how long a body of a length may take from now on, until stop is called.
func (x *Exchange) limitTime(c *gin.Context, length int64) (stop func()) {
	within := bodyTimeout + time.Duration(length)*time.Second/bodyPerSecond
	if x.BodyTimeout > 0 {
		within = min(within, x.BodyTimeout)
	}
	control := http.NewResponseController(c.Writer)
	_ = control.SetReadDeadline(time.Now().Add(within)) // a writer that cannot waits for longer
	return func() { _ = control.SetReadDeadline(time.Time{}) }
}

// errMemoryBusy says that there was no memory for a request.
var errMemoryBusy = Busy("memory_busy",
	"There is no memory for a request of this size at the moment. Try again in a second, or send less at a time.")

// Busy is an error that a repeat a second later may not meet.
func Busy(code, message string) error {
	e := domain.Fail(domain.Unavailable, code, "%s", message)
	e.RetryAfter = time.Second
	return e
}

func errBodyTooLarge(most int64) error {
	return &TransportError{http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("The request body may be at most %d bytes.", most)}
}

var errBodyTooComplex = &TransportError{http.StatusRequestEntityTooLarge, "body_too_large",
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
	return &TransportError{http.StatusUnsupportedMediaType, "unsupported_media_type",
		"The request body must be JSON in UTF-8: send Content-Type: application/json."}
}

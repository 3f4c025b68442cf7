package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// APIPath is where a gateway serves what tenants call.
const APIPath = "/v1/gateway"

// Client calls the API with a tenant's secret key.
type Client struct {
	URL  string // of the gateway
	Key  string
	HTTP *http.Client
}

// Request is one call of the API.
type Request struct {
	Method         string
	Path           string // below APIPath
	Body           any    // text, bytes and readers are sent as they are, all else as JSON, nil as nothing
	IdempotencyKey string // empty for none
}

// Response is the whole answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Code is the error's code in an answer that is no success; empty where there is none.
func (r Response) Code() string {
	var body struct{ Code string }
	_ = json.Unmarshal(r.Body, &body) // else there is none
	return body.Code
}

// JSON reads the body.
func (r Response) JSON(into any) error { return json.Unmarshal(r.Body, into) }

// Open sends a request and returns the answer with its body still to be read.
func (c Client) Open(ctx context.Context, r Request) (*http.Response, error) {
	var body io.Reader = http.NoBody
	switch b := r.Body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	case []byte:
		body = bytes.NewReader(b)
	case io.Reader:
		body = b
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, c.URL+APIPath+r.Path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-API-Key", c.Key)
	req.Header.Set("Content-Type", "application/json")
	if r.IdempotencyKey != "" {
		req.Header.Set("X-Idempotency-Key", r.IdempotencyKey)
	}
	return c.HTTP.Do(req)
}

// Do sends a request and reads the answer.
func (c Client) Do(ctx context.Context, r Request) (Response, error) {
	answer, err := c.Open(ctx, r)
	if err != nil {
		return Response{}, err
	}
	defer func() { _ = answer.Body.Close() }() // read to its end below
	text, err := io.ReadAll(answer.Body)
	return Response{answer.StatusCode, answer.Header, text}, err
}

// Call does the same and returns the body. An answer without success is an error that
// shows it.
func (c Client) Call(ctx context.Context, r Request) ([]byte, error) {
	got, err := c.Do(ctx, r)
	if err == nil && got.Status/100 != 2 {
		err = fmt.Errorf("%s %s answered %d:\n%s", r.Method, r.Path, got.Status, got.Body)
	}
	return got.Body, err
}

// Get reads what a path shows into a value. It is a [Get].
func (c Client) Get(ctx context.Context, path string, into any) error {
	text, err := c.Call(ctx, Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Post sends a body to a path and reads the answer into a value; nil reads nothing. It is
// a [Post].
func (c Client) Post(ctx context.Context, path string, body, into any) error {
	text, err := c.Call(ctx, Request{Method: http.MethodPost, Path: path, Body: body})
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Serve answers requests at an address of this machine until stop is called.
func Serve(handler http.Handler) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed by stop
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()                                      // ends with stop
	return "http://" + l.Addr().String(), func() { _ = server.Close() }, nil // nobody calls any more
}

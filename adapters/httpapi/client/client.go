// Package client calls the gateway's API from Go programs.
//
// Make a client with [Connect], or with [ConnectOperator] for the operator's part of the
// API. Each operation is a method that returns the decoded answer. A request that the
// gateway refuses returns a [*RequestError].
//
//	gateway, err := client.Connect("https://gateway.example", key)
//	...
//	wf, err := gateway.CreateWorkflow(ctx, nil, client.CreateWorkflow{Name: "Orders"}, client.IdempotencyKey("orders-1"))
//	page, err := gateway.ListRuns(ctx, &client.ListRunsParams{WorkflowID: new(wf.ID), Limit: new(50)})
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// maxErrorBytes bounds how much of a refusal is read, in case it does not come from the gateway.
const maxErrorBytes = 1 << 20

// Client calls the gateway. Several goroutines may use it at the same time.
type Client struct {
	// HTTP sends the requests. The first one follows no redirect, which could hand the
	// key to another host.
	HTTP *http.Client

	baseURL       string
	authorization [2]string // the name and the value of a header
}

// Connect returns a client of the gateway at the base URL, such as
// https://gateway.example, that sends the API key with every request.
func Connect(baseURL, apiKey string) (*Client, error) {
	if apiKey == "" {
		return nil, errors.New("client: the API key is empty")
	}
	return connect(baseURL, "X-API-Key", apiKey)
}

// ConnectOperator returns a client that sends the operator's token with every request. It
// can call the operations below /v1/operator.
func ConnectOperator(baseURL, token string) (*Client, error) {
	if token == "" {
		return nil, errors.New("client: the operator's token is empty")
	}
	return connect(baseURL, "Authorization", "Bearer "+token)
}

func connect(baseURL, header, value string) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("client: the base URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("client: the base URL %q is not an http or https URL without a query", u.Redacted())
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		HTTP:          &http.Client{CheckRedirect: stay},
		baseURL:       strings.TrimSuffix(baseURL, "/"),
		authorization: [2]string{header, value},
	}, nil
}

// Option changes one request or reads more of its answer.
type Option func(*exchange)

type exchange struct {
	header       http.Header
	answerHeader *http.Header
}

// IdempotencyKey makes a POST safe to repeat: the gateway carries it out once for each key.
func IdempotencyKey(key string) Option { return Header("X-Idempotency-Key", key) }

// IfMatch makes a change only while the record still has this ETag. Otherwise the answer
// is a RequestError with the status 412.
func IfMatch(etag string) Option { return Header("If-Match", etag) }

// Header sends a header with the request, such as X-Request-Id.
func Header(name, value string) Option {
	return func(e *exchange) { e.header.Set(name, value) }
}

// AnswerHeader stores the header of the answer in h: its ETag, for example, and what is
// left of the rate limit.
func AnswerHeader(h *http.Header) Option {
	return func(e *exchange) { e.answerHeader = h }
}

// Page is a part of a list.
type Page[T any] struct {
	Items   []T  `json:"items"`
	Total   int  `json:"total"`   // how many records there are in all
	Limit   int  `json:"limit"`   // how many a page holds at the most
	Offset  int  `json:"offset"`  // how many were skipped
	HasMore bool `json:"hasMore"` // whether more records follow
}

// RequestError is an answer that is not a success.
type RequestError struct {
	Status int
	Header http.Header
	Body   Error // its Code is stable; it is empty when the answer did not come from the gateway
}

// Error shows the status, the code, the message and every violation.
func (e *RequestError) Error() string {
	text := fmt.Sprintf("gateway: %d %s: %s", e.Status, e.Body.Code, e.Body.Message)
	if e.Body.Details != nil {
		for _, v := range *e.Body.Details {
			text += fmt.Sprintf("; %s %s", v.Field, v.Message)
		}
	}
	return text
}

// Do sends a request that no method is made for, or whose answer is to be read in another way than a method does: it is
// decoded into what answer points to, and left unread where that is nil.
func (c *Client) Do(ctx context.Context, method, path string, query url.Values, body, answer any, options ...Option) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	content, err := c.open(ctx, method, path, nil, body, options)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(content).Decode(answer); err != nil {
		return fmt.Errorf("client: read the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// call sends a request and decodes its answer.
func call[T any](ctx context.Context, c *Client, method, path string, params, body any, options []Option) (*T, error) {
	answer, err := c.open(ctx, method, path, params, body, options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Close() }()
	decoded := new(T)
	if err := json.NewDecoder(answer).Decode(decoded); err != nil {
		return nil, fmt.Errorf("client: read the answer to %s %s: %w", method, path, err)
	}
	return decoded, nil
}

// send sends a request whose answer has no body.
func (c *Client) send(ctx context.Context, method, path string, params, body any, options []Option) error {
	answer, err := c.open(ctx, method, path, params, body, options)
	if err != nil {
		return err
	}
	return answer.Close()
}

// open sends a request and returns the body of its answer, which the caller closes.
func (c *Client) open(ctx context.Context, method, path string, params, body any, options []Option) (io.ReadCloser, error) {
	e := exchange{header: http.Header{}}
	e.header.Set(c.authorization[0], c.authorization[1])
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("client: encode the body of %s %s: %w", method, path, err)
		}
		content = bytes.NewReader(encoded)
		e.header.Set("Content-Type", "application/json")
	}
	request, err := http.NewRequestWithContext(ctx, method, c.baseURL+path+queryOf(params), content)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	for _, option := range options {
		option(&e)
	}
	request.Header = e.header
	answer, err := c.HTTP.Do(request)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if e.answerHeader != nil {
		*e.answerHeader = answer.Header
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		defer func() { _ = answer.Body.Close() }()
		return nil, requestError(answer)
	}
	return answer.Body, nil
}

func requestError(answer *http.Response) *RequestError {
	failure := &RequestError{Status: answer.StatusCode, Header: answer.Header}
	if json.NewDecoder(io.LimitReader(answer.Body, maxErrorBytes)).Decode(&failure.Body) != nil {
		failure.Body = Error{Message: http.StatusText(answer.StatusCode)}
	}
	return failure
}

// pathOf puts escaped values into the path of an operation.
func pathOf(format string, values ...string) string {
	escaped := make([]any, len(values))
	for i, value := range values {
		escaped[i] = url.PathEscape(value)
	}
	return fmt.Sprintf(format, escaped...)
}

// queryOf encodes a pointer to a struct whose fields have the tag query. Fields that are
// nil are left out.
func queryOf(params any) string {
	fields := reflect.Indirect(reflect.ValueOf(params))
	if !fields.IsValid() {
		return ""
	}
	values := url.Values{}
	for field, value := range fields.Fields() {
		if value = reflect.Indirect(value); value.IsValid() {
			name := field.Tag.Get("query")
			if at, ok := value.Interface().(time.Time); ok {
				values.Set(name, at.Format(time.RFC3339Nano))
			} else {
				values.Set(name, fmt.Sprint(value))
			}
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

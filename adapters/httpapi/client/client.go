// Package client is a client of the gateway's API for Go programs. All but this file
// is generated from the API's description.
//
// Make one with [Connect], or the operator's with [ConnectOperator]. Each operation has a method that ends in WithResponse,
// whose answer holds the decoded body of a success; [Failure] turns anything else
// into an error.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Connect returns a client of the gateway at the base URL, such as
// https://gateway.example, that sends the API key with every request.
func Connect(baseURL, apiKey string, options ...ClientOption) (*ClientWithResponses, error) {
	if apiKey == "" {
		return nil, errors.New("client: the API key is empty")
	}
	key := WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-API-Key", apiKey)
		return nil
	})
	return NewClientWithResponses(baseURL, append([]ClientOption{key}, options...)...)
}

// ConnectOperator returns a client of the operator's part of the API, whose methods begin
// with Operator. It sends the operator's token with every request.
func ConnectOperator(baseURL, token string, options ...ClientOption) (*ClientWithResponses, error) {
	if token == "" {
		return nil, errors.New("client: the operator's token is empty")
	}
	bearer := WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	})
	return NewClientWithResponses(baseURL, append([]ClientOption{bearer}, options...)...)
}

// RequestError is an answer that is not a success.
type RequestError struct {
	Status int
	Body   Error // its Code is stable; zero when the answer did not come from the gateway
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

// Failure returns nil for the status of a success, else a [*RequestError]. Status and
// body are those of any answer: res.StatusCode() and res.Body.
func Failure(status int, body []byte) error {
	if status >= http.StatusOK && status < http.StatusMultipleChoices {
		return nil
	}
	failure := &RequestError{Status: status}
	if json.Unmarshal(body, &failure.Body) != nil {
		failure.Body = Error{Message: http.StatusText(status)}
	}
	return failure
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// gateway is the API with a secret key.
type gateway struct {
	url string
	key string
}

// object is a JSON object.
type object map[string]any

// text is a member of the object, empty when it is no string.
func (o object) text(member string) string {
	s, _ := o[member].(string)
	return s
}

// object is a member of the object, nil when it is none.
func (o object) object(member string) object {
	inner, _ := o[member].(map[string]any)
	return inner
}

var client = http.Client{Timeout: 30 * time.Second}

// call asks the gateway; a body of nil is none. An answer of another status than 2xx is an error.
func (g gateway) call(ctx context.Context, method, path string, body any) (object, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, g.url+"/v1/gateway"+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-API-Key", g.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	var o object
	if len(answer) == 0 {
		return o, nil
	}
	return o, json.Unmarshal(answer, &o)
}

func (g gateway) post(ctx context.Context, path string, body any) (object, error) {
	return g.call(ctx, http.MethodPost, path, body)
}

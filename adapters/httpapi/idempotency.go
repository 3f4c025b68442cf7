package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// maxIdempotencyKey bounds the key that a client chooses.
const maxIdempotencyKey = 255

// inFlight holds the idempotency keys whose first request this process is running.
// A second request is told so at once; between processes, the store tells.
type inFlight struct{ keys sync.Map }

func (f *inFlight) enter(key string) (leave func(), ok bool) {
	if _, taken := f.keys.LoadOrStore(key, struct{}{}); taken {
		return func() {}, false
	}
	return func() { f.keys.Delete(key) }, true
}

// command is a POST that has an effect.
type command[T any] struct {
	status int // of the answer
	run    func(domain.Once) (T, error)
	render func(T) any

	// revision gives the answer's ETag; nil for an answer without one.
	revision func(T) int64

	// record renders what a repeat gets back where that differs from the first answer;
	// nil where it does not.
	record func(outcome any) any
}

// execute runs a command and answers. With an idempotency key it takes effect once,
// and a repeat gets the same answer.
func execute[T any](a *API, c *gin.Context, who tenant.Caller, body jsonread.Object, cmd command[T]) error {
	once, err := onceOf(c, body, cmd.status, func(outcome any) (any, error) {
		if cmd.record != nil {
			return cmd.record(outcome), nil
		}
		made, ok := outcome.(T)
		if !ok {
			return nil, fmt.Errorf("the outcome is a %T", outcome)
		}
		return cmd.render(made), nil
	})
	if err != nil {
		return err
	}
	if once.Wanted() {
		leave, ok := a.inFlight.enter(string(who.Tenant) + " " + once.Scope + " " + once.Key)
		if !ok {
			return domain.OnceInProgress()
		}
		defer leave()
	}
	var kept []byte
	if answer := once.Answer; answer != nil && cmd.record == nil {
		once.Answer = func(outcome any) (text []byte, err error) {
			kept, err = answer(outcome)
			return kept, err
		}
	}
	made, err := cmd.run(once)
	var before *domain.Replay
	if errors.As(err, &before) {
		return replay(c, before)
	}
	if err != nil {
		return err
	}
	if cmd.revision != nil {
		setETag(c, cmd.revision(made))
	}
	if cmd.status == http.StatusNoContent {
		return noContent(c)
	}
	if kept != nil { // it is rendered already, and so answered as a repeat will be
		write(c, cmd.status, kept[statusDigits:])
		return nil
	}
	return writeJSON(c, cmd.status, cmd.render(made))
}

// onceOf reads the idempotency key of a request. The scope is the method and the
// path; the fingerprint covers the body's meaning, not its spelling, and the one parameter
// of a query that says what the body might have said.
func onceOf(c *gin.Context, body jsonread.Object, status int, render func(any) (any, error)) (domain.Once, error) {
	sent := c.Request.Header.Values(headerIdempotencyKey)
	if len(sent) == 0 {
		return domain.Once{}, nil
	}
	if len(sent) > 1 || !printable(sent[0], maxIdempotencyKey) {
		return domain.Once{}, domain.Fail(domain.Invalid, "idempotency_key_invalid",
			"The header X-Idempotency-Key must be given once and hold 1 to %d printable ASCII characters.", maxIdempotencyKey)
	}
	asked := body.Canonical()
	if sub := c.Request.URL.Query()["subTenantId"]; len(sub) > 0 {
		asked = fmt.Appendf(asked, "?%q", sub)
	}
	digest := sha256.Sum256(asked)
	return domain.Once{
		Scope:       c.Request.Method + " " + c.Request.URL.Path,
		Key:         sent[0],
		Fingerprint: hex.EncodeToString(digest[:]),
		Answer: func(outcome any) ([]byte, error) {
			value, err := render(outcome)
			if err != nil {
				return nil, err
			}
			return encodeAfter(strconv.Itoa(status), value)
		},
	}, nil
}

// statusDigits is how many bytes the status takes in front of a recorded answer.
const statusDigits = 3

// replay answers as the first request was answered.
func replay(c *gin.Context, r *domain.Replay) error {
	if len(r.Answer) < statusDigits {
		return errors.New("the recorded answer of an idempotent request is cut off")
	}
	status, err := strconv.Atoi(string(r.Answer[:statusDigits]))
	if err != nil {
		return fmt.Errorf("the recorded answer of an idempotent request: %w", err)
	}
	c.Header(headerReplayed, "true")
	if status == http.StatusNoContent {
		return noContent(c)
	}
	write(c, status, r.Answer[statusDigits:])
	return nil
}

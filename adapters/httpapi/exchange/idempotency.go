package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// maxIdempotencyKey bounds the key that a client chooses.
const maxIdempotencyKey = 255

// Command is a POST that has an effect.
type Command[T any] struct {
	Status int // of the answer
	Run    func(domain.IdempotencyKey) (T, error)
	Render func(T) any

	// Revision gives the answer's ETag; nil for an answer without one.
	Revision func(T) int64

	// Record renders what a repeat gets back where that differs from the first answer;
	// nil where it does not.
	Record func(outcome any) any
}

// Record returns what renders outcomes of a type, as [Command] wants it.
func Record[T, B any](render func(T) B) func(outcome any) any {
	return func(outcome any) any {
		made, ok := outcome.(T)
		if !ok {
			return nil
		}
		return render(made)
	}
}

// ExecuteWithoutBody runs a command on a resource, which Answer has, that reads nothing of
// its body, and answers.
func ExecuteWithoutBody[Answer, T any](c *gin.Context, who tenant.Caller, cmd Command[T]) error {
	if err := ReadNothing[Answer](c); err != nil {
		return err
	}
	return Execute(c, who, cmd)
}

// Execute runs a command whose body was read, and answers. With an idempotency key it takes
// effect once, and a repeat gets the same answer.
func Execute[T any](c *gin.Context, who tenant.Caller, cmd Command[T]) error {
	idempotency, err := onceOf(c, who, cmd.Status, func(outcome any) (any, error) {
		if cmd.Record != nil {
			return cmd.Record(outcome), nil
		}
		made, ok := outcome.(T)
		if !ok {
			return nil, fmt.Errorf("the outcome is a %T", outcome)
		}
		return cmd.Render(made), nil
	})
	if err != nil {
		return err
	}
	if idempotency.Wanted() {
		inFlight, key := &StateOf(c).exchange.inFlight, string(who.Tenant())+" "+idempotency.Scope+" "+idempotency.Key
		if _, taken := inFlight.LoadOrStore(key, struct{}{}); taken {
			return domain.OnceInProgress() // between processes, the store says so
		}
		defer inFlight.Delete(key)
	}
	var kept []byte
	if answer := idempotency.Answer; answer != nil && cmd.Record == nil {
		idempotency.Answer = func(outcome any) (text []byte, err error) {
			kept, err = answer(outcome)
			return kept, err
		}
	}
	made, err := cmd.Run(idempotency)
	var before *domain.Replay
	if errors.As(err, &before) {
		return replay(c, before)
	}
	if err != nil {
		return err
	}
	if cmd.Revision != nil {
		SetETag(c, cmd.Revision(made))
	}
	if cmd.Status == http.StatusNoContent {
		return NoContent(c)
	}
	if kept != nil { // it is rendered already, and so answered as a repeat will be
		Write(c, cmd.Status, kept[statusDigits:])
		return nil
	}
	return WriteJSON(c, cmd.Status, cmd.Render(made))
}

// onceOf reads the idempotency key of a request. The scope is the method and the
// path, with the sub-tenant of a caller who reaches no other, and its subject, or with the member; the fingerprint covers the
// body's meaning, not its spelling, and the one parameter of a query that says what the body
// might have said.
func onceOf(c *gin.Context, who tenant.Caller, status int, render func(any) (any, error)) (domain.IdempotencyKey, error) {
	sent := c.Request.Header.Values("X-Idempotency-Key")
	if len(sent) == 0 {
		return domain.IdempotencyKey{}, nil
	}
	if len(sent) > 1 || !Printable(sent[0], maxIdempotencyKey) {
		return domain.IdempotencyKey{}, domain.Fail(domain.Invalid, "idempotency_key_invalid",
			"The header X-Idempotency-Key must be given once and hold 1 to %d printable ASCII characters.", maxIdempotencyKey)
	}
	asked := StateOf(c).body.Canonical()
	if sub := c.Request.URL.Query()["subTenantId"]; len(sub) > 0 {
		asked = fmt.Appendf(asked, "?%q", sub)
	}
	digest := sha256.Sum256(asked)
	within := c.Request.Method + " " + c.Request.URL.Path
	if sub := who.Scope.SubTenant(); sub != nil {
		within = fmt.Sprintf("%q %q %s", *sub, who.Narrowing.Subject, within)
	}
	if who.KeyType == tenant.Session {
		within = string(who.Member.User) + " " + within
	}
	return domain.IdempotencyKey{
		Scope:       within,
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
	c.Header("Idempotent-Replayed", "true")
	if status == http.StatusNoContent {
		return NoContent(c)
	}
	Write(c, status, r.Answer[statusDigits:])
	return nil
}

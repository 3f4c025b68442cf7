package redis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	redigo "github.com/gomodule/redigo/redis"

	"github.com/sluicehq/sluice/ports/outbound"
)

var (
	//go:embed admit.lua
	admitSource string
	//go:embed renew.lua
	renewSource string

	// admitHash is sent for the script, and the script to a server that does not know it.
	admitHash = redigo.NewScript(0, admitSource).Hash()
)

// request is one question to Redis.
type request struct {
	subject string
	limit   int
	window  time.Duration
	look    bool // nothing is to be counted: the answer is a refusal in any case

	places int      // 0: none is wanted
	token  string   // the name of the place that is wanted
	left   []string // the subject's places that Redis may not know to be free
}

// answer is what Redis says to a [request].
type answer struct {
	outbound.Allowance
	inside bool
}

// The two keys of a subject share a hash tag, so that a proxy that spreads keys over
// servers keeps them together.
func (l *Limiter) grantsKey(subject string) string {
	return l.opts.Prefix + "{" + subject + "}:window"
}
func (l *Limiter) placesKey(subject string) string {
	return l.opts.Prefix + "{" + subject + "}:places"
}

// admit asks Redis in one round trip and waits no longer than the timeout.
func (l *Limiter) admit(ctx context.Context, r request) (answer, error) {
	var got []int64
	err := l.pool.use(ctx, l.opts.Timeout, func(c redigo.Conn) (err error) {
		got, err = redigo.Int64s(evaluate(c, l.arguments(r)))
		return err
	})
	if err != nil {
		return answer{}, fmt.Errorf("redis: count a request: %w", err)
	}
	if len(got) != 5 {
		return answer{}, fmt.Errorf("redis: count a request: the script returned %d numbers, not 5", len(got))
	}
	return answer{
		Allowance: outbound.Allowance{
			Granted: got[0] == 1, Remaining: int(got[2]),
			Reset: milliseconds(got[3]), RetryAfter: time.Duration(got[4]) * time.Microsecond,
		},
		inside: got[1] == 1,
	}, nil
}

// arguments are those of EVALSHA for a request.
func (l *Limiter) arguments(r request) []any {
	args := make([]any, 0, 10+len(r.left))
	args = append(args, admitHash, 1, l.grantsKey(r.subject))
	if r.places > 0 {
		args[1] = 2
		args = append(args, l.placesKey(r.subject))
	}
	args = append(args, l.now(), r.window.Microseconds(), r.limit)
	if r.look {
		return append(args, "look")
	}
	if r.places > 0 {
		args = append(args, r.places, l.opts.Lease.Microseconds(), r.token)
		args = appendAll(args, r.left)
	}
	return args
}

// evaluate runs the script whose hash is the first argument, [admitHash]. A server that
// does not know it has done nothing yet and gets it as a whole.
func evaluate(c redigo.Conn, args []any) (any, error) {
	reply, err := c.Do("EVALSHA", args...)
	var refusal redigo.Error
	if errors.As(err, &refusal) && strings.HasPrefix(string(refusal), "NOSCRIPT ") {
		args[0] = admitSource
		return c.Do("EVAL", args...)
	}
	return reply, err
}

// milliseconds turns microseconds into the instant, rounded up to the precision that
// all instants of the service have.
func milliseconds(micros int64) time.Time { return time.UnixMilli((micros + 999) / 1000).UTC() }

// now is the instant for a script: none, so that it reads the server's clock and
// processes need not agree about the time. Tests set a clock.
func (l *Limiter) now() string {
	if l.clock == nil {
		return ""
	}
	return strconv.FormatInt(l.clock.Now().UnixMicro(), 10)
}

// free gives places back, in one round trip.
func (l *Limiter) free(ctx context.Context, left map[string][]string) error {
	return l.pipeline(ctx, "give places back", "ZREM", left, func(subject string) []any {
		return []any{l.placesKey(subject)}
	})
}

// renew begins leases anew, in one round trip.
func (l *Limiter) renew(ctx context.Context, held map[string][]string) error {
	return l.pipeline(ctx, "renew leases", "EVAL", held, func(subject string) []any {
		return []any{renewSource, 1, l.placesKey(subject), l.now(), l.opts.Lease.Microseconds()}
	})
}

// pipeline sends one command for each subject, with the names of its places after what
// first returns.
func (l *Limiter) pipeline(ctx context.Context, what, command string, places map[string][]string, first func(subject string) []any) error {
	if len(places) == 0 {
		return nil
	}
	err := l.pool.use(ctx, l.opts.Timeout, func(c redigo.Conn) error {
		for subject, tokens := range places {
			if err := c.Send(command, appendAll(first(subject), tokens)...); err != nil {
				return err
			}
		}
		replies, err := redigo.Values(c.Do("")) // the answers to all
		for _, reply := range replies {
			if refusal, ok := reply.(redigo.Error); ok {
				return refusal
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("redis: %s: %w", what, err)
	}
	return nil
}

func appendAll(args []any, texts []string) []any {
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}

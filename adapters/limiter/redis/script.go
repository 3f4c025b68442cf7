package redis

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/ports/outbound"
)

var (
	//go:embed admit.lua
	admitSource string
	//go:embed renew.lua
	renewSource string

	// admitScript is sent as its hash, and as a whole to a server that does not know it.
	admitScript = goredis.NewScript(admitSource)
)

// request is one question to Redis.
type request struct {
	subject string
	limit   int
	window  time.Duration

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
	ctx, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	keys := []string{l.grantsKey(r.subject)}
	args := append(make([]any, 0, 6+len(r.left)), l.now(), r.window.Microseconds(), r.limit)
	if r.places > 0 {
		keys = append(keys, l.placesKey(r.subject))
		args = append(args, r.places, l.opts.Lease.Microseconds(), r.token)
		for _, token := range r.left {
			args = append(args, token)
		}
	}
	got, err := admitScript.Run(ctx, l.client, keys, args...).Int64Slice()
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
	return l.pipeline(ctx, "give places back", func(pipe goredis.Pipeliner) {
		for subject, tokens := range left {
			pipe.ZRem(ctx, l.placesKey(subject), members(tokens)...)
		}
	})
}

// renew begins leases anew, in one round trip.
func (l *Limiter) renew(ctx context.Context, held map[string][]string) error {
	return l.pipeline(ctx, "renew leases", func(pipe goredis.Pipeliner) {
		for subject, tokens := range held {
			args := append([]any{l.now(), l.opts.Lease.Microseconds()}, members(tokens)...)
			pipe.Eval(ctx, renewSource, []string{l.placesKey(subject)}, args...)
		}
	})
}

func (l *Limiter) pipeline(ctx context.Context, what string, fill func(goredis.Pipeliner)) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	pipe := l.client.Pipeline()
	if fill(pipe); pipe.Len() == 0 {
		return nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("redis: %s: %w", what, err)
	}
	return nil
}

func members(tokens []string) []any {
	all := make([]any, len(tokens))
	for i, token := range tokens {
		all[i] = token
	}
	return all
}

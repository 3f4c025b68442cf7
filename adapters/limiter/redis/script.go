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

	admitScript = goredis.NewScript(admitSource)
)

// request is one question to Redis.
type request struct {
	subject string
	limit   int
	window  time.Duration
	peek    bool // count nothing: the local count refuses the request

	slots    int      // 0: no slot is wanted
	token    string   // names the wanted slot
	released []string // tokens of the subject that Redis may still hold
}

// answer is what Redis says to a [request].
type answer struct {
	outbound.Allowance
	inside bool
}

// The two keys of a subject share a hash tag, so that a proxy that spreads keys over
// servers keeps them together.
func (l *Limiter) windowKey(subject string) string { return l.opts.Prefix + "{" + subject + "}:window" }
func (l *Limiter) slotsKey(subject string) string  { return l.opts.Prefix + "{" + subject + "}:places" }

// admit asks Redis in one round trip and waits no longer than the timeout.
func (l *Limiter) admit(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	keys, args := l.arguments(r)
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
			Reset: roundUpToMilliseconds(got[3]), RetryAfter: time.Duration(got[4]) * time.Microsecond,
		},
		inside: got[1] == 1,
	}, nil
}

// arguments are those of the script for a request.
func (l *Limiter) arguments(r request) (keys []string, args []any) {
	keys = []string{l.windowKey(r.subject)}
	args = []any{l.now(), r.window.Microseconds(), r.limit}
	switch {
	case r.peek:
		args = append(args, "peek")
	case r.slots > 0:
		keys = append(keys, l.slotsKey(r.subject))
		args = append(args, r.slots, l.opts.Lease.Microseconds(), r.token)
		args = appendAll(args, r.released)
	}
	return keys, args
}

// roundUpToMilliseconds converts Unix microseconds to the precision of all instants of
// the service.
func roundUpToMilliseconds(micros int64) time.Time {
	return time.UnixMilli((micros + 999) / 1000).UTC()
}

// now is the instant for a script: empty, so that it reads the server's clock and the
// processes need not agree about the time. Tests set a clock.
func (l *Limiter) now() string {
	if l.clock == nil {
		return ""
	}
	return strconv.FormatInt(l.clock.Now().UnixMicro(), 10)
}

// sendReleased removes released slots in one round trip.
func (l *Limiter) sendReleased(ctx context.Context, tokens map[string][]string) error {
	return l.pipeline(ctx, "release slots", tokens, func(p goredis.Pipeliner, subject string, tokens []string) {
		p.ZRem(ctx, l.slotsKey(subject), appendAll(nil, tokens)...)
	})
}

// sendRenewals renews leases in one round trip.
func (l *Limiter) sendRenewals(ctx context.Context, tokens map[string][]string) error {
	return l.pipeline(ctx, "renew leases", tokens, func(p goredis.Pipeliner, subject string, tokens []string) {
		args := appendAll([]any{l.now(), l.opts.Lease.Microseconds()}, tokens)
		p.Eval(ctx, renewSource, []string{l.slotsKey(subject)}, args...)
	})
}

// pipeline sends one command for each subject and its tokens.
func (l *Limiter) pipeline(ctx context.Context, what string, tokens map[string][]string, queue func(goredis.Pipeliner, string, []string)) error {
	if len(tokens) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	_, err := l.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for subject, tokens := range tokens {
			queue(p, subject, tokens)
		}
		return nil
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

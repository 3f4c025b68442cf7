package redis_test

import (
	"net/url"
	"testing"

	redigo "github.com/gomodule/redigo/redis"
)

// backdoor talks to the server behind the limiter's back. What fails ends the test.
type backdoor struct {
	t    testing.TB
	conn redigo.Conn
}

func client(t testing.TB, address string) backdoor {
	t.Helper()
	dial := func() (redigo.Conn, error) { return redigo.DialURLContext(t.Context(), address) }
	if u, err := url.Parse(address); err == nil && u.Scheme == "unix" {
		dial = func() (redigo.Conn, error) { return redigo.DialContext(t.Context(), "unix", u.Path) }
	}
	conn, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return backdoor{t: t, conn: conn}
}

func (b backdoor) do(command string, args ...any) any {
	b.t.Helper()
	reply, err := b.conn.Do(command, args...)
	if err != nil {
		b.t.Fatalf("%s: %v", command, err)
	}
	return reply
}

func (b backdoor) number(command string, args ...any) int64 {
	b.t.Helper()
	n, err := redigo.Int64(b.do(command, args...), nil)
	if err != nil {
		b.t.Fatalf("%s: %v", command, err)
	}
	return n
}

func (b backdoor) text(command string, args ...any) string {
	b.t.Helper()
	text, err := redigo.String(b.do(command, args...), nil)
	if err != nil {
		b.t.Fatalf("%s: %v", command, err)
	}
	return text
}

func (b backdoor) texts(command string, args ...any) []string {
	b.t.Helper()
	texts, err := redigo.Strings(b.do(command, args...), nil)
	if err != nil {
		b.t.Fatalf("%s: %v", command, err)
	}
	return texts
}

package redis_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// testClient sends commands to the server past the limiter. What fails ends the test.
type testClient struct {
	t      testing.TB
	client *goredis.Client
}

func connect(t testing.TB, address string) testClient {
	t.Helper()
	opts, err := goredis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return testClient{t: t, client: client}
}

func (c testClient) do(args ...any) *goredis.Cmd {
	c.t.Helper()
	cmd := c.client.Do(c.t.Context(), args...)
	if err := cmd.Err(); err != nil {
		c.t.Fatalf("%v: %v", args, err)
	}
	return cmd
}

func (c testClient) number(args ...any) int64 {
	c.t.Helper()
	n, err := c.do(args...).Int64()
	if err != nil {
		c.t.Fatalf("%v: %v", args, err)
	}
	return n
}

func (c testClient) text(args ...any) string {
	c.t.Helper()
	text, err := c.do(args...).Text()
	if err != nil {
		c.t.Fatalf("%v: %v", args, err)
	}
	return text
}

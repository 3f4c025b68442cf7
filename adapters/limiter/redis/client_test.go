package redis_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/sluicehq/sluice/adapters/limiter/redis"
)

// serve calls handle for each connection to the returned address until the test ends.
func serve(t *testing.T, handle func(net.Conn)) (address string, hangUp func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	hangUp = func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range open {
			_ = conn.Close()
		}
		open = nil
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			running.Go(func() { handle(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		hangUp()
		running.Wait()
	})
	return listener.Addr().String(), hangUp
}

// readCommand reads one command and returns its name.
func readCommand(in *bufio.Reader) (name string, err error) {
	number := func() (n int) {
		var line string
		if line, err = in.ReadString('\n'); err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(line[1:]))
		}
		return n
	}
	for i := range number() {
		word := make([]byte, number()+len("\r\n"))
		if err == nil {
			_, err = io.ReadFull(in, word)
		}
		if i == 0 {
			name = strings.ToLower(strings.TrimSpace(string(word)))
		}
	}
	return name, err
}

func TestARequestIsSentOnce(t *testing.T) {
	const hangUp = "hang up"
	for claim, answer := range map[string]string{
		"the server hangs up":        hangUp,
		"the server does not answer": "",
		"the answer is malformed":    "what?\r\n",
		"the server is a replica":    "-READONLY You can't write against a read only replica.\r\n",
		"the server is loading":      "-LOADING Redis is loading the dataset in memory\r\n",
	} {
		t.Run(claim, func(t *testing.T) {
			var broken atomic.Bool
			var asked atomic.Int64
			address, _ := serve(t, func(conn net.Conn) {
				defer func() { _ = conn.Close() }()
				for in := bufio.NewReader(conn); ; {
					name, err := readCommand(in)
					reply := "-ERR unknown command\r\n"
					switch {
					case name == "evalsha" && broken.Load():
						asked.Add(1)
						reply = answer
					case name == "evalsha":
						reply = "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:0\r\n"
					case name == "ping" && !broken.Load():
						reply = "+PONG\r\n"
					}
					if err != nil || reply == hangUp {
						return
					}
					_, _ = io.WriteString(conn, reply)
				}
			})
			w := observe(t, "redis://"+address)
			w.waitShared(t)
			broken.Store(true)
			w.take(t, 10)
			eventually(t, "the request was not sent", func() bool { return asked.Load() > 0 })
			if w.outages.Load() != 1 || w.fallbacks.Load() != 1 || asked.Load() != 1 {
				t.Errorf("%d outages, %d fallbacks, sent %d times", w.outages.Load(), w.fallbacks.Load(), asked.Load())
			}
		})
	}
}

func TestAnIdleConnectionThatTheServerClosedIsNotUsed(t *testing.T) {
	plain := miniredis.RunT(t)
	example := httptest.NewTLSServer(nil)
	defer example.Close()
	secured, err := miniredis.RunTLS(&tls.Config{Certificates: example.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(secured.Close)
	for name, c := range map[string]struct{ address, server string }{
		"redis":  {"redis://%s", plain.Addr()},
		"rediss": {"rediss://%s?skip_verify=true", secured.Addr()},
	} {
		t.Run(name, func(t *testing.T) {
			proxy, hangUp := serve(t, func(conn net.Conn) {
				server, err := net.Dial("tcp", c.server)
				if err != nil {
					t.Error(err)
					return
				}
				go func() { _, _ = io.Copy(conn, server) }()
				_, _ = io.Copy(server, conn)
				_ = server.Close()
			})
			l := openLimiter(t, fmt.Sprintf(c.address, proxy), redis.Options{})
			for range 5 {
				if _, err := l.Allow(t.Context(), "a", 100, time.Minute); err != nil {
					t.Fatal(err)
				}
				hangUp()
			}
		})
	}
}

func TestThereAreNoMoreConnectionsThanThePoolSize(t *testing.T) {
	server := miniredis.RunT(t)
	l := openLimiter(t, "redis://"+server.Addr()+"?pool_size=2", redis.Options{})
	var done sync.WaitGroup
	for range 16 {
		done.Go(func() {
			for range 20 {
				if _, err := l.Allow(t.Context(), "a", 1000, time.Minute); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if n := server.TotalConnectionCount(); n > 2 {
		t.Errorf("%d connections were made", n)
	}
}

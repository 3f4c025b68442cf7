package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func TestATLSConnectionThatNoRequestWaitedForServesALaterOne(t *testing.T) {
	example := httptest.NewTLSServer(nil)
	defer example.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: example.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var accepted atomic.Int64
	proceed, sent := make(chan struct{}), make(chan struct{}, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			<-proceed
			// This answer to HELLO is early: on the socket it looks like session tickets.
			for _, answer := range []string{"-ERR unknown command\r\n", "+PONG\r\n"} {
				_, _ = io.WriteString(conn, answer)
				sent <- struct{}{}
				_, _ = conn.Read(make([]byte, 1024)) // HELLO, PING
			}
		}
	}()
	server, err := parse("rediss://" + listener.Addr().String() + "?skip_verify=true")
	if err != nil {
		t.Fatal(err)
	}
	client := server.newClient()
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := client.Ping(ctx).Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	close(proceed)
	<-sent
	for client.PoolStats().IdleConns == 0 {
		runtime.Gosched()
	}
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil || accepted.Load() != 1 {
		t.Errorf("%v; %d connections", err, accepted.Load())
	}
}

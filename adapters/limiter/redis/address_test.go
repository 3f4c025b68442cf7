package redis_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/limiter/redis"
	"github.com/sluicehq/sluice/adapters/limiter/redis/redistest"
	"github.com/sluicehq/sluice/adapters/system"
)

const secret = "hunter2"

func TestAnAddressThatIsWrongDoesNotShow(t *testing.T) {
	for _, address := range []string{
		"", secret, secret + "://host", "http://user:" + secret + "@host", "redis://user:" + secret + "/x@host:port",
		"redis://:" + secret + "@host:" + secret, "redis://:" + secret + "@host/" + secret, "redis://host?" + secret + "=1",
		"redis://host?pool_size=" + secret, "redis://%zz" + secret, "unix://:" + secret + "@",
	} {
		l, err := redis.New(t.Context(), address, memory.New(system.Clock{}), redis.Options{})
		if err == nil || l != nil {
			t.Errorf("%s was taken", address)
			continue
		}
		if strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "redis://user:password@host:6379/0") {
			t.Errorf("%s: %v", address, err)
		}
		if check := redis.CheckAddress(address); check == nil || check.Error() != err.Error() {
			t.Errorf("%s: checked it is %v, opened %v", address, check, err)
		}
	}
	if err := redis.CheckAddress("rediss://user:" + secret + "@host:6380/2"); err != nil {
		t.Error(err)
	}
}

func TestThePasswordDoesNotShow(t *testing.T) {
	protected := launch(t, "--requirepass", "another")
	plain := launch(t)
	socket := func(in *redistest.Instance) string { return strings.TrimPrefix(in.URL, "unix://") }
	for claim, address := range map[string]string{
		"a wrong password":         "unix://:" + secret + "@" + socket(protected),
		"a user that is unknown":   "unix://user:" + secret + "@" + socket(protected),
		"a user on an open server": "unix://user:" + secret + "@" + socket(plain),
		"a server that is absent":  "unix://:" + secret + "@" + filepath.Join(t.TempDir(), "none"),
		"a port that is closed":    "redis://:" + secret + "@127.0.0.1:1/0",
		"a host that is unknown":   "redis://:" + secret + "@nowhere.invalid:1/0",
		"no TLS where it is due":   "rediss://:" + secret + "@" + miniredis.RunT(t).Addr(),
	} {
		t.Run(claim, func(t *testing.T) {
			w := observe(t, address)
			if w.Shared() || w.outages.Load() != 1 {
				t.Fatalf("shared %v, %d warnings", w.Shared(), w.outages.Load())
			}
			if reason := w.reason.Load().(string); strings.Contains(reason, secret) {
				t.Error(reason)
			}
		})
	}
}

func TestAPasswordOpensTheServer(t *testing.T) {
	protected := launch(t, "--requirepass", secret)
	mini := miniredis.RunT(t)
	mini.RequireAuth(secret)
	for claim, address := range map[string]string{
		"on a socket": strings.Replace(protected.URL, "unix://", "unix://:"+secret+"@", 1),
		"over TCP":    "redis://:" + secret + "@" + mini.Addr() + "/3",
	} {
		t.Run(claim, func(t *testing.T) {
			e := enter(t, openLimiter(t, address, redis.Options{}), 1)
			if !e.Acquired {
				t.Error("a free slot was refused")
			}
		})
	}
	if keys := mini.DB(3).Keys(); len(keys) == 0 {
		t.Error("the database of the address was not used")
	}
}

// outageReason is why a server cannot be used, however long it takes to find out.
func outageReason(t *testing.T, address string) string {
	t.Helper()
	var reason string
	opts := redis.Options{Timeout: longTimeout, OnOutage: func(err error) { reason = err.Error() }}
	l, err := redis.New(t.Context(), address, memory.New(system.Clock{}), opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	return reason
}

func TestAServerThatRepeatsThePasswordIsNotQuoted(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			for buf := make([]byte, 1024); err == nil; _, err = conn.Read(buf) {
				_, _ = fmt.Fprintf(conn, "-ERR unknown command 'AUTH', with args beginning with: '%s'\r\n", secret)
			}
			_ = conn.Close()
		}
	}()
	want := "redis: count a request: connect: the server refuses the user or the password: it answers ERR to AUTH"
	if got := outageReason(t, "redis://:"+secret+"@"+listener.Addr().String()); got != want {
		t.Errorf("the reason is %s", got)
	}
}

func TestTheCertificateOfTheServerIsChecked(t *testing.T) {
	example := httptest.NewTLSServer(nil) // has a certificate that is not trusted here
	defer example.Close()
	mini, err := miniredis.RunTLS(&tls.Config{Certificates: example.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mini.Close)
	if got := outageReason(t, "rediss://"+mini.Addr()); !strings.Contains(got, "x509: ") {
		t.Errorf("the reason is %s", got)
	}
	before := mini.TotalConnectionCount()
	l := openLimiter(t, "rediss://"+mini.Addr()+"?skip_verify=true", redis.Options{})
	for range 10 {
		if _, err := l.Allow(t.Context(), "a", 100, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if made := mini.TotalConnectionCount() - before; made != 1 {
		t.Errorf("%d connections were made", made)
	}
}

// quietVariable makes this test binary use a server that is absent.
const quietVariable = "REDIS_QUIET"

func useAbsentServer() {
	l, err := redis.New(context.Background(), "redis://:"+secret+"@127.0.0.1:1/0", memory.New(system.Clock{}), redis.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if a, err := l.Allow(context.Background(), "a", 1, time.Minute); !a.Granted || err != nil {
		fmt.Println(a, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestNothingIsWrittenToStandardError(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), quietVariable+"=yes")
	if out, err := child.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v, and written was: %s", err, out)
	}
}

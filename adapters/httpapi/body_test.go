package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpapi"
)

// untouched is a body that must not be read.
type untouched struct{ testing.TB }

func (u untouched) Read([]byte) (int, error) {
	u.Error("the body is read")
	return 0, io.ErrUnexpectedEOF
}

// most is how long a body may be.
const most = 1024

const cancelPath = runsPath + "/" + string(streamedRun) + "/cancel"

// newBareAPI is an API behind which there is nothing but who admits everybody.
func newBareAPI(t *testing.T) *httpapi.API {
	t.Helper()
	api, err := httpapi.New(httpapi.Ports{Admission: &fakeAdmission{}}, httpapi.Budgeted(httpapi.Options{
		Log: zerolog.Nop(), MaxBody: most, Now: time.Now, NewID: func(prefix string) string { return prefix + "_1" },
	}))
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestABodyThatSaysItIsTooLargeIsRefusedUnread(t *testing.T) {
	t.Parallel()
	api := newBareAPI(t)
	padded := func(size int) io.Reader {
		const frame = len(`{"reason":[""]}`)
		return strings.NewReader(`{"reason":["` + strings.Repeat("a", size-frame) + `"]}`)
	}
	for claim, c := range map[string]struct {
		body   io.Reader
		length int64
		want   string
	}{
		"a byte too long":                           {untouched{t}, most + 1, "413 body_too_large"},
		"far too long":                              {untouched{t}, 1 << 50, "413 body_too_large"},
		"as long as it may be":                      {padded(most), most, "400 call_invalid"},
		"too long, which it does not say":           {padded(most + 1), -1, "413 body_too_large"},
		"as long as it may be, and it does not say": {padded(most), -1, "400 call_invalid"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, cancelPath, c.body)
		r.ContentLength = c.length
		recorder := httptest.NewRecorder()
		api.ServeHTTP(recorder, r)
		got := answer{recorder.Code, recorder.Header(), recorder.Body.String()}
		if diff := cmp.Diff(c.want, fmt.Sprint(got.status, " ", got.field(t, "code"))); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

// Who asks first is told before it has sent anything (RFC 9110, "Expect").
func TestWhoAsksBeforeSendingIsAnsweredBefore(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newBareAPI(t))
	t.Cleanup(server.Close)
	for claim, c := range map[string]struct {
		headers string
		want    string
	}{
		"a body that is too large":  {"Content-Length: 1025\r\n", "413 close=true body_too_large"},
		"one that is far too large": {"Content-Length: 99999999999\r\n", "413 close=true body_too_large"},
		"one that is no JSON":       {"Content-Length: 10\r\nContent-Type: text/plain\r\n", "415 close=true unsupported_media_type"},
		"one that is welcome":       {"Content-Length: 10\r\n", "100 close=false "},
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "POST "+cancelPath+" HTTP/1.1\r\nHost: gateway\r\nX-API-Key: sk_1\r\nExpect: 100-continue\r\n"+c.headers+"\r\n"); err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", claim, err)
			continue
		}
		body, err := io.ReadAll(got.Body)
		_ = got.Body.Close()
		_, code, _ := bytes.Cut(body, []byte(`"code":"`))
		code, _, _ = bytes.Cut(code, []byte(`"`))
		if diff := cmp.Diff(c.want, fmt.Sprintf("%d close=%v %s", got.StatusCode, got.Close, code)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", claim, err, diff)
		}
	}
}

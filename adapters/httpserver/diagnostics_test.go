package httpserver_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpserver"
)

func TestTheProfilesAreThoseOfThisProcess(t *testing.T) {
	var ended atomic.Bool
	var busy sync.WaitGroup
	busy.Go(func() { // or a profile of the processor holds nothing
		for !ended.Load() {
			runtime.Gosched()
		}
	})
	defer busy.Wait()
	defer ended.Store(true)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		httpserver.NewDiagnostics(zerolog.Nop(), http.NotFoundHandler()).Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	for _, name := range []string{"allocs", "heap", "goroutine", "profile?seconds=1"} {
		w := get("/debug/pprof/" + name)
		packed, err := gzip.NewReader(w.Body)
		if w.Code != http.StatusOK || err != nil {
			t.Errorf("%s: %d, %v", name, w.Code, err)
			continue
		}
		// A profile is a gzipped protocol buffer that holds names in plain text.
		if text, err := io.ReadAll(packed); err != nil || !bytes.Contains(text, []byte("httpserver")) {
			t.Errorf("%s holds %d bytes that do not name this program, %v", name, len(text), err)
		}
	}
	// The command line may hold what the operator did not mean to show.
	for _, path := range []string{"/debug/pprof/cmdline", "/debug/pprof/nothing", "/"} {
		if w := get(path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

package attack

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// longestAnswer is what the gateway reads of an answer at most.
const longestAnswer = 1 << 20

// Server is what the workflows of the hostile tenant call. Its answers are small on the
// wire and large in memory, slow, or never end.
type Server struct{ mux *http.ServeMux }

// NewServer prepares the answers.
func NewServer() *Server {
	s := &Server{mux: http.NewServeMux()}
	for name, body := range shapes(longestAnswer) {
		s.mux.Handle("/answer/"+name, compressed(body))
	}
	const before, after = `{"success":true,"data":`, `}`
	for name, data := range shapes(longestAnswer - len(before) - len(after)) {
		s.mux.Handle("/node/"+name, compressed(append(append([]byte(before), data...), after...)))
	}
	s.mux.HandleFunc("/answer/slow", trickle(200*time.Millisecond))
	s.mux.HandleFunc("/answer/never", trickle(20*time.Second))
	s.mux.Handle("/node/pause", plain(`{"paused":true,"event":"never","timeoutMs":60000}`))
	s.mux.Handle("/node/fail", plain(`{"success":false,"error":{"message":"again","code":"again","retryable":true}}`))
	s.mux.HandleFunc("/hang", hang)
	return s
}

// shapes are JSON texts of a length that take many times that in memory.
func shapes(length int) map[string][]byte {
	return map[string][]byte{
		"lists":   listOf("[]", length),
		"objects": listOf(`{"":0}`, length),
		"numbers": listOf("0", length),
		"texts":   listOf(`""`, length),
		"nested":  listOf(nested(), length),
		"digits":  append(append([]byte{'['}, digits(length-2)...), ']'),
	}
}

// ServeHTTP answers a call of a workflow.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 1<<20)) // what it holds does not matter
	s.mux.ServeHTTP(w, r)
}

// compressed answers with gzip, a thousandth of the text.
func compressed(text []byte) http.Handler {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // into memory
	_ = z.Close()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(b.Bytes()) // the caller may be gone
	})
}

func plain(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text) // the caller may be gone
	})
}

// trickle answers almost everything at once and then a byte now and then, for as long as
// the caller waits.
func trickle(pace time.Duration) http.HandlerFunc {
	most := bytes.TrimSuffix(listOf("[]", longestAnswer*9/10), []byte("]"))
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write(most); err != nil {
			return
		}
		flush := http.NewResponseController(w)
		for flush.Flush() == nil && harness.Sleep(r.Context(), pace) {
			if _, err := io.WriteString(w, ",0"); err != nil {
				return
			}
		}
	}
}

// hang does not answer.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

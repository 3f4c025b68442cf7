// Package contract is test support: it holds the answers of the HTTP API against
// openapi.yaml, and runs golden files of requests and answers. Nothing but tests
// imports it.
package contract

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluicehq/sluice/adapters/httpapi/openapi"
)

// Validator holds every exchange that passes through it against the document and
// fails the test where they differ. It may be used by many goroutines at once.
type Validator struct {
	tb testing.TB
	document

	everywhere map[string]int // errors of all operations, by their codes

	mu       sync.Mutex
	answered map[string]struct{}
}

// document is what the document says.
type document struct {
	requests *openapi3.T // members that are not known are allowed
	answers  *openapi3.T // members that are not documented are not
	routes   []route
}

// documents are read once in a process, which takes longer than most tests: nobody
// changes them afterwards.
var documents = sync.OnceValues(func() (document, error) { return read(openapi.YAML()) })

func read(text []byte) (read document, err error) {
	if read.requests, err = load(text); err != nil {
		return document{}, err
	}
	if read.answers, err = load(text); err != nil {
		return document{}, err
	}
	each(read.requests, permitNull)
	each(read.requests, permitForms)
	each(read.answers, permitNull)
	each(read.answers, forbidUndocumented)
	read.routes = routesOf(read.requests)
	return read, nil
}

// New returns a validator that reports to tb.
func New(tb testing.TB) *Validator {
	tb.Helper()
	return newValidator(tb, documents)
}

// Of is New for another document than the gateway's.
func Of(tb testing.TB, text []byte) *Validator {
	tb.Helper()
	once, _ := others.LoadOrStore(string(text), sync.OnceValues(func() (document, error) { return read(text) }))
	documents, _ := once.(func() (document, error)) // as it was stored
	return newValidator(tb, documents)
}

// others are the documents of [Of], by their texts.
var others sync.Map

// Where returns a validator of the same document for which every operation may also fail with these errors, which
// have the codes and statuses.
func (v *Validator) Where(everywhere map[string]int) *Validator {
	return &Validator{tb: v.tb, document: v.document, everywhere: everywhere, answered: map[string]struct{}{}}
}

func newValidator(tb testing.TB, documents func() (document, error)) *Validator {
	tb.Helper()
	read, err := documents()
	if err != nil {
		tb.Fatalf("openapi.yaml: %v", err)
	}
	return &Validator{tb: tb, document: read, answered: map[string]struct{}{}}
}

func load(text []byte) (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(text) }

// Handler returns a handler that answers as next does and checks the exchange. The
// answer is held back until it is complete, so it is not for streams.
func (v *Validator) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := readAll(v.tb, r.Body)
		r.Body = io.NopCloser(bytes.NewReader(sent))
		recorder := httptest.NewRecorder()
		asked := r.Clone(r.Context())
		next.ServeHTTP(recorder, r)
		answer := recorder.Result()
		body := readAll(v.tb, answer.Body)
		v.report(asked, sent, answer, body)
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.StatusCode)
		if _, err := w.Write(body); err != nil && r.Method != http.MethodHead && len(body) > 0 {
			v.tb.Errorf("%s %s: write the answer: %v", r.Method, r.URL.Path, err)
		}
	})
}

// Client returns a client whose requests go to next without a network, and whose
// exchanges are checked. It follows no redirects.
func (v *Validator) Client(next http.Handler) *http.Client {
	return &http.Client{
		Transport:     v.RoundTripper(direct{next}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RoundTripper returns one that does what next does and checks the exchange.
func (v *Validator) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		var sent []byte
		if r.Body != nil {
			sent = readAll(v.tb, r.Body)
		}
		passed := r.Clone(r.Context())
		passed.Body = io.NopCloser(bytes.NewReader(sent))
		answer, err := next.RoundTrip(passed)
		if err != nil {
			return nil, err
		}
		body := readAll(v.tb, answer.Body)
		answer.Body = io.NopCloser(bytes.NewReader(body))
		v.report(r, sent, answer, body)
		return answer, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// direct sends requests to a handler.
type direct struct{ to http.Handler }

// RoundTrip answers with what the handler writes.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	arrived := r.Clone(r.Context())
	arrived.RequestURI = r.URL.RequestURI()
	arrived.RemoteAddr = "192.0.2.1:1234" // RFC 5737: for documentation
	if arrived.Host == "" {
		arrived.Host = r.URL.Host
	}
	d.to.ServeHTTP(recorder, arrived)
	answer := recorder.Result()
	answer.Request = r
	return answer, nil
}

func readAll(tb testing.TB, body io.ReadCloser) []byte {
	tb.Helper()
	all, err := io.ReadAll(body)
	if err != nil {
		tb.Errorf("read a body: %v", err)
	}
	if err := body.Close(); err != nil {
		tb.Errorf("close a body: %v", err)
	}
	return all
}

func (v *Validator) report(r *http.Request, sent []byte, answer *http.Response, body []byte) {
	v.tb.Helper()
	for _, problem := range v.Check(r, sent, answer, body) {
		v.tb.Errorf("%s %s answered %d, against openapi.yaml: %s\n%s", r.Method, r.URL.Path, answer.StatusCode, problem, clip(body))
	}
}

const longest = 2000 // bytes of a body in a message

func clip(body []byte) string {
	if len(body) > longest {
		return string(body[:longest]) + "…"
	}
	return string(body)
}

// Check returns what is wrong with an exchange, nothing when all is well. A request
// is checked only where it succeeded: it then must have been valid. Bodies are those
// of the request and the answer, which are not read.
func (v *Validator) Check(r *http.Request, sent []byte, answer *http.Response, body []byte) []string {
	found := v.find(r)
	if found.operation == nil {
		return v.checkUnknown(r, found, answer, body)
	}
	v.note(fmt.Sprintf("%s %s %d", found.Method, found.Path, answer.StatusCode))
	documented := v.documented(found.Route, answer.StatusCode)
	if v.failsEverywhere(answer, body) {
		return v.checkError(r, answer, body)
	}
	if documented == nil {
		return []string{fmt.Sprintf("the status is not documented for %s; documented are %s", found.OperationID, statuses(found.operation))}
	}
	problems := checkHeaders(documented.Headers, answer.Header)
	problems = append(problems, v.checkBody(r, documented, answer, body)...)
	if answer.StatusCode < http.StatusMultipleChoices {
		problems = append(problems, v.checkRequest(r, sent, found)...)
	}
	return problems
}

func (v *Validator) documented(at Route, status int) *openapi3.Response {
	op := v.answers.Paths.Value(at.Path).GetOperation(at.Method)
	if answer := op.Responses.Status(status); answer != nil {
		return answer.Value
	}
	return nil
}

func statuses(op *openapi3.Operation) string {
	return strings.Join(slices.Sorted(func(yield func(string) bool) {
		for status := range op.Responses.Map() {
			if !yield(status) {
				return
			}
		}
	}), ", ")
}

func (v *Validator) note(what string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.answered[what] = struct{}{}
}

// Answered lists what was seen so far, sorted, as "POST /v1/gateway/triggers 201".
func (v *Validator) Answered() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make([]string, 0, len(v.answered))
	for what := range v.answered {
		all = append(all, what)
	}
	slices.Sort(all)
	return all
}

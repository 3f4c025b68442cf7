package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The lines of a golden file that divide it.
const (
	answerMark = "----" // before the answer
	nextMark   = "====" // before the next exchange
)

// Replacement hides what differs from run to run.
type Replacement struct {
	name    string
	value   string
	pattern *regexp.Regexp
}

// Value stands for a value in both directions: {{name}} in a request becomes the
// value, and the value in an answer becomes {{name}}.
func Value(name, value string) Replacement { return Replacement{name: name, value: value} }

// Mask replaces what matches the pattern in an answer by {{name}}.
func Mask(name, pattern string) Replacement {
	return Replacement{name: name, pattern: regexp.MustCompile(pattern)}
}

// Golden sends the requests of a file to the handler and compares the answers with
// those of the file. With update it writes the answers into the file instead.
//
// An exchange is a request, a line of ----, and the answer; a line of ==== stands
// before the next one. A request is comment lines that begin with #, then method and
// path, headers, an empty line, and the body. An answer is the status, the headers,
// sorted and without Content-Length, an empty line, and the body, indented where it
// is JSON.
func Golden(t *testing.T, handler http.Handler, file string, update bool, replace ...Replacement) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := play(handler, string(text), replace)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-the file, +the answer):\n%s", file, diff)
	}
}

// play returns the text of a golden file with the answers that the handler gives.
func play(handler http.Handler, text string, replace []Replacement) (string, error) {
	exchanges := strings.Split("\n"+text, "\n"+nextMark+"\n")
	for i, exchange := range exchanges {
		asked, _, _ := strings.Cut(exchange+"\n", "\n"+answerMark+"\n")
		asked = strings.Trim(asked, "\n")
		r, err := request(asked, replace)
		if err != nil {
			return "", fmt.Errorf("exchange %d: %w", i+1, err)
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		exchanges[i] = asked + "\n" + answerMark + "\n" + render(recorder, replace)
	}
	return strings.Join(exchanges, nextMark+"\n"), nil
}

func request(text string, replace []Replacement) (*http.Request, error) {
	for _, r := range replace {
		if r.pattern == nil {
			text = strings.ReplaceAll(text, "{{"+r.name+"}}", r.value)
		}
	}
	if open := strings.Index(text, "{{"); open >= 0 {
		return nil, fmt.Errorf("nothing stands for %.40q", text[open:])
	}
	for strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	method, target, ok := strings.Cut(lines[0], " ")
	if !ok || !strings.HasPrefix(target, "/") {
		return nil, fmt.Errorf("%q is not a method and a path", lines[0])
	}
	r, err := http.NewRequestWithContext(context.Background(), method, "http://gateway.example"+target, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.RequestURI = target
	r.RemoteAddr = "192.0.2.1:1234" // RFC 5737: for documentation
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%q is not a header", line)
		}
		r.Header.Add(name, strings.TrimSpace(value))
	}
	return r, nil
}

func render(answer *httptest.ResponseRecorder, replace []Replacement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n", answer.Code, http.StatusText(answer.Code))
	var headers []string
	for name, values := range answer.Result().Header {
		for _, value := range values {
			if name != "Content-Length" && name != "Date" {
				headers = append(headers, name+": "+value+"\n")
			}
		}
	}
	slices.Sort(headers)
	b.WriteString(strings.Join(headers, ""))
	if body := answer.Body.Bytes(); len(body) > 0 {
		var indented bytes.Buffer
		if json.Indent(&indented, body, "", "  ") == nil {
			body = indented.Bytes()
		}
		b.WriteString("\n" + strings.TrimRight(string(body), "\n") + "\n")
	}
	text := b.String()
	for _, r := range replace {
		if r.pattern != nil {
			text = r.pattern.ReplaceAllLiteralString(text, "{{"+r.name+"}}")
		} else if r.value != "" {
			text = strings.ReplaceAll(text, r.value, "{{"+r.name+"}}")
		}
	}
	return text
}

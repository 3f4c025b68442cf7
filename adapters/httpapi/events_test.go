package httpapi_test

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

// events reads the types of server-sent events.
type events struct {
	lines *bufio.Scanner
	last  string // the id of the last event that had one
}

func newEvents(r io.Reader) *events { return &events{lines: bufio.NewScanner(r)} }

// next returns the type of the next event, empty at the end of the stream.
func (e *events) next(t *testing.T) (name string) {
	t.Helper()
	for e.lines.Scan() {
		field, value, _ := strings.Cut(e.lines.Text(), ": ")
		switch field {
		case "id":
			e.last = value
		case "event":
			name = value
		case "": // an event ends with an empty line; a comment has no type
			if name != "" && e.lines.Text() == "" {
				return name
			}
		}
	}
	if err := e.lines.Err(); err != nil {
		t.Fatal(err)
	}
	return ""
}

package noderunner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sluicehq/sluice/domain"
)

// maxDigits is how long a number without an exponent may be and is still no greater than
// a double can be.
const maxDigits = 308

// maxShown bounds how much of a number, or of a member's name, a message quotes.
const maxShown = 40

// checkNumbers refuses a JSON text with a number that no double can hold, as for requests to
// the gateway: readers of the run would get infinity, or an error. The error names the first
// by its path. The text is valid; its values are not built, because they may take many times
// as much memory.
func checkNumbers(text []byte, path string) error {
	at := findOutOfRange(text)
	if at < 0 {
		return nil
	}
	number := text[at : at+numberLength(text[at:])]
	bound := "most " + domain.GreatestDouble
	if number[0] == '-' {
		bound = "least " + domain.LeastDouble
	}
	return fmt.Errorf("%s must be at %s, not %s", pathAt(text, at, path), bound, clip(string(number), maxShown))
}

// findOutOfRange is where the first number stands that a double cannot hold, not even
// roughly; -1 when there is none.
func findOutOfRange(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = domain.EndOfString(text, i)
		case c == '-' || '0' <= c && c <= '9':
			n := numberLength(text[i:])
			if !inRange(text[i : i+n]) {
				return i
			}
			i += n - 1
		}
	}
	return -1
}

func inRange(number []byte) bool {
	if len(number) <= maxDigits && !bytes.ContainsAny(number, "eE") {
		return true
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return err == nil
}

func numberLength(text []byte) int {
	n := 1
	for n < len(text) && ('0' <= text[n] && text[n] <= '9' || bytes.IndexByte([]byte(".eE+-"), text[n]) >= 0) {
		n++
	}
	return n
}

// pathAt is the path of the value that begins at a place of a text.
func pathAt(text []byte, at int, path string) string {
	type level struct {
		path  string
		index int // of the element; -1 in an object
	}
	levels := []level{}
	name, here := "", path
	for i := 0; i < at; i++ {
		switch text[i] {
		case '{':
			levels = append(levels, level{here, -1})
		case '[':
			levels = append(levels, level{here, 0})
			here = domain.Index(here, 0)
		case '}', ']':
			levels = levels[:len(levels)-1]
		case ',':
			if top := &levels[len(levels)-1]; top.index >= 0 {
				top.index++
				here = domain.Index(top.path, top.index)
			}
		case '"':
			end := domain.EndOfString(text, i)
			_ = json.Unmarshal(text[i:end+1], &name) // a part of a valid text
			i = end
		case ':':
			here = domain.Member(levels[len(levels)-1].path, clip(name, maxShown))
		}
	}
	return here
}

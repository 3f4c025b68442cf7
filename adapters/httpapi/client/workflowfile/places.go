package workflowfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// places are the lines on which the values of a file stand, by their paths.
type places map[string]int

// placesIn reads a file to the end, and reports members that repeat. It returns an error at the line where a file is no JSON.
func placesIn(content []byte, report func(path, message string)) (places, int, error) {
	r := placeReader{dec: json.NewDecoder(bytes.NewReader(content)), content: content, found: places{}, report: report}
	r.dec.UseNumber()
	err := r.value("", 0)
	if err == nil {
		if _, err = r.dec.Token(); err == nil {
			err = errors.New("more stands behind the workflow")
		} else if errors.Is(err, io.EOF) {
			return r.found, 0, nil
		}
	} else if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	var broken *json.SyntaxError
	if errors.As(err, &broken) {
		return nil, r.line(broken.Offset), err
	}
	return nil, r.line(r.dec.InputOffset()), err
}

type placeReader struct {
	dec     *json.Decoder
	content []byte
	found   places
	report  func(path, message string)
}

func (r placeReader) line(offset int64) int {
	return 1 + bytes.Count(r.content[:min(offset, int64(len(r.content)))], []byte("\n"))
}

// maxDepth is how deep values may be in one another; the gateway takes fewer.
const maxDepth = 200

func (r placeReader) value(path string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("values are more than %d levels deep in one another", maxDepth)
	}
	token, err := r.dec.Token()
	if err != nil {
		return err
	}
	r.found[path] = r.line(r.dec.InputOffset())
	switch token {
	case json.Delim('{'):
		for r.dec.More() {
			name, err := r.dec.Token()
			if err != nil {
				return err
			}
			at := join(path, name.(string)) // or Token had failed
			if _, repeats := r.found[at]; repeats {
				r.report(at, "stands here twice")
			}
			if err := r.value(at, depth+1); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; r.dec.More(); i++ {
			if err := r.value(element(path, i), depth+1); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = r.dec.Token() // the end of it
	return err
}

// line is where a path stands, or what is around it.
func (p places) line(path string) int {
	for ; ; path = outer(path) {
		if line, ok := p[path]; ok || path == "" {
			return line
		}
	}
}

// outer is the path of what a value is a part of.
func outer(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

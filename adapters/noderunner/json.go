package noderunner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth bounds how deep an answer nests, as it does for requests to the gateway.
const maxDepth = 64

// decode reads one JSON value into target, numbers as they are spelled.
func decode(text []byte, target any) error {
	if err := checkText(text); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(target)
}

// checkText says why a text is not one JSON value that can be kept.
func checkText(text []byte) error {
	switch {
	case !utf8.Valid(text):
		return errors.New("it is not valid UTF-8")
	case !json.Valid(text):
		return errors.New("it is not one JSON value")
	case depth(text) > maxDepth:
		return fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	return nil
}

// depth counts the levels of arrays and objects in valid JSON.
func depth(text []byte) int {
	deepest, level, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

// encode writes the value as JSON, without escaping what is special in HTML only.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

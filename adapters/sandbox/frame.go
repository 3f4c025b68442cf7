package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// frameHeader is how many bytes stand before a frame: its length, the most significant
// byte first.
const frameHeader = 4

// smallFrame is how much of a frame is written with its length: each write wakes the other side.
const smallFrame = 4 << 10

var errFrameTooLarge = errors.New("sandbox: a frame is too large")

func writeFrame(w io.Writer, body []byte) error {
	first := body[:min(len(body), smallFrame)]
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, frameHeader+len(first)), uint32(len(body)))
	if _, err := w.Write(append(frame, first...)); err != nil {
		return fmt.Errorf("sandbox: write a frame: %w", err)
	}
	if len(first) == len(body) {
		return nil
	}
	if _, err := w.Write(body[len(first):]); err != nil {
		return fmt.Errorf("sandbox: write a frame: %w", err)
	}
	return nil
}

// encode writes the value as JSON. What is special in HTML only stays as it is, so that JSON within
// it grows no longer.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// readFrame reads a frame of at most so many bytes. The error is io.EOF where there is no
// further one.
func readFrame(r io.Reader, most int) ([]byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	length := int64(binary.BigEndian.Uint32(header[:]))
	if length > int64(most) {
		return nil, errFrameTooLarge
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("sandbox: read a frame: %w", err)
	}
	return body, nil
}

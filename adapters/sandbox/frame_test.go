package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0})
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 2, 'o', 'k'})
	f.Add([]byte{0, 0, 0, 3, 'o', 'k'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 'o', 'k'})
	f.Add([]byte{0, 1, 0, 1})
	f.Fuzz(func(t *testing.T, sent []byte) {
		const most = 100 << 10
		body, err := readFrame(bytes.NewReader(sent), most)
		whole := len(sent) >= frameHeader
		length := 0
		if whole {
			length = int(binary.BigEndian.Uint32(sent))
			whole = length <= most && len(sent) >= frameHeader+length
		}
		switch {
		case whole != (err == nil):
			t.Fatalf("%d bytes that announce %d: %v", len(sent), length, err)
		case len(sent) == 0 && !errors.Is(err, io.EOF):
			t.Fatalf("nothing was sent: %v", err)
		case err == nil && !bytes.Equal(body, sent[frameHeader:frameHeader+length]):
			t.Fatalf("got %q of %q", body, sent)
		}
		var again bytes.Buffer
		if err == nil && (writeFrame(&again, body) != nil || !bytes.Equal(again.Bytes(), sent[:frameHeader+length])) {
			t.Fatalf("%q is written as %q", body, again.Bytes())
		}
	})
}

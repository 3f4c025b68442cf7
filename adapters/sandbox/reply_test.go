package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluicehq/sluice/domain/run"
)

// FuzzReplies has the gateway read what a process might write that code has taken over: whatever
// it is, there is an outcome that the port knows.
func FuzzReplies(f *testing.F) {
	for _, body := range []string{
		`{"output":{"a":[1]},"log":["x"]}`, `{"output":null}`, `{"code":"code_failed","message":"m","log":["\u0000"]}`, `{}`, `{]`, `null`, `[]`, `{"output":1,"code":"mine"}`,
		`{"code":"output_too_large"}`, `{"output":1}{"output":2}`, "{\"message\":\"\xff\",\"code\":\"code_timeout\"}", `{"log":[` + strings.Repeat(`"x",`, 200) + `""]}`,
	} {
		f.Add([]byte(body), []byte("\x00\x00\x00\x02{}"), true)
	}
	f.Add([]byte{}, []byte{0xff, 0xff, 0xff, 0xff}, false)
	known := []string{codeFailed, codeTimeout, codeOutOfMemory, codeCrashed, run.CodeOutputTooLarge}
	f.Fuzz(func(t *testing.T, body, behind []byte, framed bool) {
		sent := new(bytes.Buffer)
		if framed && writeFrame(sent, body) != nil {
			t.Fatal("a frame cannot be written")
		} else if !framed {
			sent.Write(body)
		}
		sent.Write(behind)
		p := process{out: io.NopCloser(iotest.OneByteReader(sent))} // as pipes may give it
		var answer reply
		if err := p.read(&answer); err != nil {
			if framed && len(body) <= maxReply && json.Valid(body) && json.Unmarshal(body, new(reply)) == nil {
				t.Fatalf("an answer is refused: %v", err)
			}
			return // it counts as the end of the process
		}
		if framed && !bytes.Equal(sent.Bytes(), behind) {
			t.Fatalf("of %q %q is left", behind, sent.Bytes())
		}
		o := outcomeOf(answer)
		switch {
		case (o.Output == nil) == (o.Failure == nil):
			t.Fatalf("output %s and failure %v", o.Output, o.Failure)
		case o.Output != nil && (!json.Valid(o.Output) || len(o.Output) > run.MaxOutput):
			t.Fatalf("the output is %.100s", o.Output)
		case o.Failure != nil && !slices.Contains(known, o.Failure.Code):
			t.Fatalf("the code is %q", o.Failure.Code)
		case o.Failure != nil && o.Failure.Retryable != (o.Failure.Code == codeCrashed):
			t.Fatalf("%s: retryable is %t", o.Failure.Code, o.Failure.Retryable)
		case len(o.Log) > run.MaxLogLines || len(strings.Join(o.Log, "")) > run.MaxLogBytes:
			t.Fatalf("the log has %d lines", len(o.Log))
		}
	})
}

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/sluicehq/sluice/domain/run"
)

// greeting is the first frame of a process.
type greeting struct {
	Refused string `json:"refused,omitempty"` // why it runs no code
}

// Serve is the life of a process that runs code: it gives up what it does not need, and
// answers requests on its standard input until that ends. It returns the exit code.
func Serve() int {
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(ownMemory)
	time.Local = time.UTC
	yieldToOthers()
	// A descriptor that does not block is read by a system call that waits; the poller would
	// need others.
	in, out := os.Stdin, os.Stdout
	first, err := newExecution()
	if err == nil {
		_ = first.execute(request{Source: "return 1", Values: json.RawMessage("{}"), Timeout: time.Second, Memory: leastMemory}) // initializes what is initialized late
		first.close()
	}
	var hello greeting
	if err := confine(); err != nil {
		hello.Refused = err.Error()
	}
	if err := writeJSON(out, hello); err != nil || hello.Refused != "" {
		return 1
	}
	for err == nil {
		err = serveNext(in, out)
	}
	if errors.Is(err, io.EOF) {
		return 0
	}
	_, _ = fmt.Fprintln(os.Stderr, err) // nowhere to report a failure to
	return 1
}

// serveNext answers one request. Its VM is made while none waits, and given up after the answer.
func serveNext(in io.Reader, out io.Writer) error {
	e, err := newExecution()
	if err != nil {
		return err
	}
	defer e.close()
	body, err := readFrame(in, maxRequest)
	if err != nil {
		return err
	}
	var asked request
	if err = json.Unmarshal(body, &asked); err != nil {
		return err
	}
	return writeJSON(out, bounded(e.execute(asked)))
}

// bounded cuts what the gateway would not read.
func bounded(answer reply) reply {
	if len(answer.Message) > maxMessage {
		answer.Message = answer.Message[:maxMessage]
	}
	answer.Log = run.NewLog(answer.Log)
	return answer
}

func writeJSON(w io.Writer, value any) error {
	body, err := encode(value)
	if err != nil {
		return fmt.Errorf("sandbox: write a frame: %w", err)
	}
	return writeFrame(w, body)
}

// What passes between the gateway and its process, in bytes.
const (
	maxRequest = 20 << 20
	maxReply   = run.MaxOutput + 8*(maxMessage+run.MaxLogBytes) // text grows when it is written as JSON
	maxMessage = 8 << 10

	leastMemory = 1 << 20

	// ownMemory is about what a process takes besides the memory of the code that it runs, at
	// which its collector begins to work hard.
	ownMemory = 48 << 20
)

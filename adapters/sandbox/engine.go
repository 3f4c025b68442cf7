package sandbox

import (
	"crypto/sha256"
	_ "embed" // prelude.js
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"modernc.org/quickjs"

	"github.com/sluicehq/sluice/domain/run"
)

//go:embed prelude.js
var preludeText string

// prelude stands on one line, so that a frame on the first line is never one of code.
var prelude = strings.ReplaceAll(preludeText, "\n", " ")

// compiledPrelude is the same in the engine's own form.
var compiledPrelude = sync.OnceValues(func() ([]byte, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	defer func() { _ = vm.Close() }() // there is nobody to tell
	return vm.Compile(prelude, quickjs.EvalGlobal)
})

// What stands around a source. Its own lines begin with the second one.
const (
	beforeSource = "(function (input, payload, nodes, item, index, run) {\"use strict\";\n"
	afterSource  = "\n})"
)

// request is what the gateway asks of a process.
type request struct {
	Compile bool            `json:"compile,omitempty"` // and nothing else
	Source  string          `json:"source"`
	Values  json.RawMessage `json:"values,omitempty"`
	Now     int64           `json:"now,omitempty"` // in Unix milliseconds
	Seed    string          `json:"seed,omitempty"`
	Timeout time.Duration   `json:"timeout"`
	Memory  int64           `json:"memory"`
}

// reply is what the process answers. Of Output and Code one is there, or neither for a
// source that compiles.
type reply struct {
	Output  json.RawMessage `json:"output,omitempty"`
	Code    string          `json:"code,omitempty"` // why it failed
	Message string          `json:"message,omitempty"`
	Line    int             `json:"line,omitempty"` // where in the source, counted from 1; 0 where that is not known
	Column  int             `json:"column,omitempty"`
	Log     []string        `json:"log,omitempty"`

	took time.Duration // by the clock of who asked
}

// The codes of failures.
const (
	codeFailed      = "code_failed"
	codeTimeout     = "code_timeout"
	codeOutOfMemory = "code_out_of_memory"
	codeCrashed     = "code_crashed"
)

// execution is one request in a VM of its own, which is made before there is one: it takes longer
// than most code does.
type execution struct {
	vm       *quickjs.VM
	setUp    quickjs.Value // the prelude
	logger   quickjs.Value // writes a line for the log
	asked    request
	deadline time.Time
	log      []string
}

// newExecution makes a VM ready for a request.
func newExecution() (*execution, error) {
	compiled, err := compiledPrelude()
	if err != nil {
		return nil, err
	}
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	vm.SetCanBlock(false)
	e := &execution{vm: vm}
	const name = "log"
	err = vm.RegisterHostFunc(name, e.write)
	if err == nil {
		e.setUp, err = vm.EvalBytecodeValue(compiled)
	}
	if err == nil {
		e.logger, err = vm.EvalValue("{ const taken = "+name+"; delete globalThis."+name+"; taken }", quickjs.EvalGlobal)
	}
	if err != nil {
		_ = vm.Close() // there is nobody to tell
		return nil, err
	}
	return e, nil
}

func (e *execution) close() {
	e.logger.Free()
	e.setUp.Free()
	_ = e.vm.Close() // there is nobody to tell
}

// execute carries out the request.
func (e *execution) execute(asked request) (answer reply) {
	e.asked, e.deadline = asked, time.Now().Add(asked.Timeout)
	e.vm.SetMemoryLimit(uintptr(asked.Memory))
	var err error
	if asked.Compile {
		err = e.compile()
	} else {
		answer.Output, err = e.run()
	}
	if err != nil {
		answer = e.explain(err)
	}
	answer.Log = e.log
	return answer
}

// bound has the next call end at the deadline.
func (e *execution) bound() { _ = e.vm.SetEvalTimeout(max(time.Until(e.deadline), time.Nanosecond)) } // never fails

// compile reads the source as the body of a function, and of a method: whatever ends the body
// early, so as to go on behind it, fits around one of the two only.
func (e *execution) compile() error {
	e.bound()
	if _, err := e.vm.Compile(beforeSource+e.asked.Source+afterSource, quickjs.EvalGlobal); err != nil {
		return err
	}
	e.bound()
	if _, err := e.vm.Compile("(class { run() {\n"+e.asked.Source+"\n}})", quickjs.EvalGlobal); err != nil {
		return err
	}
	return nil
}

func (e *execution) run() (json.RawMessage, error) {
	call, err := e.prepare()
	if err != nil {
		return nil, err
	}
	defer call.Free()
	e.bound()
	body, err := e.vm.EvalValue(beforeSource+e.asked.Source+afterSource, quickjs.EvalGlobal)
	if err != nil {
		return nil, err
	}
	defer body.Free()
	e.bound()
	output, err := call.Call(quickjs.UndefinedValue, body, string(e.asked.Values))
	if err != nil {
		return nil, err
	}
	text, done := output.(string)
	if !done { // it is promised
		e.bound()
		if _, err = e.vm.ExecutePendingJobs(); err != nil {
			return nil, err
		}
		e.bound()
		if output, err = call.Call(quickjs.UndefinedValue); err != nil {
			return nil, err
		}
		text, _ = output.(string)
	}
	if len(text) > run.MaxOutput {
		return nil, &tooLarge{len(text)}
	}
	return json.RawMessage(text), nil
}

type tooLarge struct{ length int }

func (t *tooLarge) Error() string {
	return fmt.Sprintf("The output must be at most %d bytes of JSON, not %d.", run.MaxOutput, t.length)
}

// prepare returns what calls code.
func (e *execution) prepare() (quickjs.Value, error) {
	seed := sha256.Sum256([]byte(e.asked.Seed))
	number := func(i int) int { return int(int32(binary.LittleEndian.Uint32(seed[4*i:]))) }
	e.bound()
	return e.setUp.CallValue(quickjs.UndefinedValue, float64(e.asked.Now), number(0), number(1), number(2), number(3), e.logger, run.MaxLogLines, run.MaxLogBytes)
}

// write takes a line for the log.
func (e *execution) write(args []any) (any, error) {
	if len(args) == 1 {
		if line, isText := args[0].(string); isText {
			e.log = append(e.log, line)
		}
	}
	return nil, nil
}

// frame finds where an error was made: the first frame of code in its stack, which does not
// stand on the first line.
var frame = regexp.MustCompile(`<eval>:([0-9]{1,9}):([0-9]{1,9})`)

// explain says why there is no output.
func (e *execution) explain(err error) reply {
	var large *tooLarge
	var thrown *quickjs.Error
	switch {
	case errors.As(err, &large):
		return reply{Code: run.CodeOutputTooLarge, Message: large.Error()}
	case !errors.As(err, &thrown):
		return reply{Code: codeFailed, Message: err.Error()}
	case thrown.Name == "InternalError" && thrown.Message == "interrupted" && !time.Now().Before(e.deadline):
		return reply{Code: codeTimeout, Message: fmt.Sprintf("The code did not end within %d ms.", e.asked.Timeout.Milliseconds())}
	case thrown.Name == "InternalError" && thrown.Message == "out of memory", thrown.Name == "" && thrown.Error() == "null": // there was none for an error
		return reply{Code: codeOutOfMemory, Message: fmt.Sprintf("The code needs more than its %d MB of memory.", e.asked.Memory>>20)}
	}
	failed := reply{Code: codeFailed, Message: thrown.Message}
	if thrown.Name != "" {
		failed.Message = strings.TrimSuffix(thrown.Name+": "+thrown.Message, ": ")
	} else if thrown.Message == "" {
		failed.Message = thrown.Error()
	}
	failed.Line, failed.Column = place(thrown)
	if lines := strings.Split(e.asked.Source, "\n"); failed.Line > len(lines) { // in what stands around it
		failed.Line, failed.Column = len(lines), utf8.RuneCountInString(lines[len(lines)-1])+1
		failed.Message = thrown.Name + ": unexpected end: something in the source is not closed, or closes the function that it is the body of"
	}
	if failed.Line > 0 {
		failed.Message = fmt.Sprintf("line %d, column %d: %s", failed.Line, failed.Column, failed.Message)
	}
	return failed
}

// place is where in the source an error was made, counted from 1; 0 where that is not known.
func place(thrown *quickjs.Error) (line, column int) {
	for _, found := range frame.FindAllStringSubmatch(thrown.Stack, 100) {
		line, _ = strconv.Atoi(found[1])
		if column, _ = strconv.Atoi(found[2]); line > 1 {
			return line - 1, column
		}
	}
	return 0, 0
}

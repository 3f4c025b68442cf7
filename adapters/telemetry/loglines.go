package telemetry

import (
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Bounds of buffered lines.
const (
	bufferTime = 10 * time.Millisecond
	maxBuffer  = 64 << 10 // bytes
)

// Lines writes log lines that come close together in one go, because a system call for
// each costs a busy gateway more than making the line. A line that comes after a pause
// is written at once, and so is one that warns, with what was gathered before it. A
// line that follows another within 10 ms waits for at most as long, which is what is
// lost of the log when the process is killed; Flush before it ends by itself.
//
// It is safe for many goroutines. When the writer beneath does not keep up, those who
// log wait for it.
type Lines struct {
	mu      sync.Mutex
	out     io.Writer
	buffer  []byte
	timer   *time.Timer // of what is gathered; set once something was written
	pausing bool        // whether the next line comes after a pause
	err     error       // of what was written, not yet returned
}

var _ zerolog.LevelWriter = (*Lines)(nil)

// NewLines returns a writer that passes whole lines on to out.
func NewLines(out io.Writer) *Lines { return &Lines{out: out, pausing: true} }

// Write takes lines of no known level, which are written at once.
func (l *Lines) Write(p []byte) (int, error) { return l.WriteLevel(zerolog.NoLevel, p) }

// WriteLevel takes whole lines. An error may be that of lines before them.
func (l *Lines) WriteLevel(level zerolog.Level, p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffer = append(l.buffer, p...)
	if l.pausing || level >= zerolog.WarnLevel || len(l.buffer) >= maxBuffer {
		l.write()
		l.wait()
	}
	err := l.err
	l.err = nil
	return len(p), err
}

// Flush writes what is gathered.
func (l *Lines) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write()
	err := l.err
	l.err = nil
	return err
}

// wait lets lines gather from now on.
func (l *Lines) wait() {
	switch {
	case !l.pausing: // the timer is running
	case l.timer == nil:
		l.timer = time.AfterFunc(bufferTime, l.expire)
	default:
		l.timer.Reset(bufferTime)
	}
	l.pausing = false
}

// expire ends the time to gather: a pause begins where nothing came.
func (l *Lines) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pausing = len(l.buffer) == 0
	if !l.pausing {
		l.write()
		l.timer.Reset(bufferTime)
	}
}

// write passes on what is gathered.
func (l *Lines) write() {
	if len(l.buffer) == 0 {
		return
	}
	if _, err := l.out.Write(l.buffer); err != nil {
		l.err = err
	}
	if l.buffer = l.buffer[:0]; cap(l.buffer) > 2*maxBuffer {
		l.buffer = nil // a single line was that long
	}
}

package telemetry_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/telemetry"
)

// pieces keeps what each write brought.
type pieces struct {
	mu  sync.Mutex
	got []string
	err error
}

func (p *pieces) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, string(text))
	return len(text), p.err
}

func (p *pieces) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

func (p *pieces) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *pieces) want(t *testing.T, pieces ...string) {
	t.Helper()
	if diff := cmp.Diff(pieces, p.all()); diff != "" {
		t.Errorf("written, wanted (-) and got (+):\n%s", diff)
	}
}

// say logs a line of a level.
func say(t *testing.T, l *telemetry.Lines, level zerolog.Level, line string) {
	t.Helper()
	if n, err := l.WriteLevel(level, []byte(line+"\n")); n != len(line)+1 || err != nil {
		t.Error(n, err)
	}
}

func TestALineAfterAPauseIsWrittenAtOnceAndThoseBehindItTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(pieces)
		l := telemetry.NewLines(out)
		say(t, l, zerolog.InfoLevel, "a")
		out.want(t, "a\n")
		say(t, l, zerolog.InfoLevel, "b")
		say(t, l, zerolog.DebugLevel, "c")
		out.want(t, "a\n")
		time.Sleep(11 * time.Millisecond)
		out.want(t, "a\n", "b\nc\n")
		say(t, l, zerolog.InfoLevel, "d") // 1 ms after the others: no pause
		out.want(t, "a\n", "b\nc\n")
		time.Sleep(30 * time.Millisecond)
		say(t, l, zerolog.InfoLevel, "e")
		out.want(t, "a\n", "b\nc\n", "d\n", "e\n")
		time.Sleep(time.Second)
	})
}

func TestALineThatWarnsTakesThoseBeforeItAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(pieces)
		l := telemetry.NewLines(out)
		say(t, l, zerolog.InfoLevel, "a")
		say(t, l, zerolog.InfoLevel, "b")
		say(t, l, zerolog.WarnLevel, "c")
		out.want(t, "a\n", "b\nc\n")
		say(t, l, zerolog.NoLevel, "d")
		out.want(t, "a\n", "b\nc\n", "d\n")
		say(t, l, zerolog.InfoLevel, "e")
		if err := l.Flush(); err != nil {
			t.Error(err)
		}
		out.want(t, "a\n", "b\nc\n", "d\n", "e\n")
		if err := l.Flush(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		out.want(t, "a\n", "b\nc\n", "d\n", "e\n")
	})
}

func TestWhatIsGatheredIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(pieces)
		l := telemetry.NewLines(out)
		line := strings.Repeat("x", 999)
		for range 200 {
			say(t, l, zerolog.InfoLevel, line)
		}
		if n := len(out.all()); n != 4 { // the first line, and three times 66 of them
			t.Errorf("%d pieces were written", n)
		}
		time.Sleep(time.Second)
		if got := len(strings.Join(out.all(), "")); got != 200*1000 {
			t.Errorf("%d bytes were written", got)
		}
	})
}

func TestAWriterThatFailsIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &pieces{err: io.ErrClosedPipe}
		l := telemetry.NewLines(out)
		if _, err := l.Write([]byte("a\n")); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
		say(t, l, zerolog.InfoLevel, "b")
		time.Sleep(time.Second)
		out.fail(nil)
		if _, err := l.WriteLevel(zerolog.InfoLevel, []byte("c\n")); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
		say(t, l, zerolog.InfoLevel, "d")
		time.Sleep(time.Second)
	})
}

func TestLinesOfManyGoroutinesStayWholeAndInOrder(t *testing.T) {
	out := new(pieces)
	l := telemetry.NewLines(out)
	var all sync.WaitGroup
	const writers, each = 8, 500
	for w := range writers {
		all.Go(func() {
			for i := range each {
				say(t, l, zerolog.InfoLevel, fmt.Sprintf("%d %d", w, i))
			}
		})
	}
	all.Wait()
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	var next [writers]int
	for line := range strings.Lines(strings.Join(out.all(), "")) {
		var w, i int
		if _, err := fmt.Sscanf(line, "%d %d\n", &w, &i); err != nil || next[w] != i {
			t.Fatalf("%q, where writer %d was at %d: %v", line, w, next[w], err)
		}
		next[w]++
	}
	for w, n := range next {
		if n != each {
			t.Errorf("%d lines of writer %d arrived", n, w)
		}
	}
}

// BenchmarkLines compares lines that are gathered with lines that are written each by
// itself, to a file.
func BenchmarkLines(b *testing.B) {
	line := []byte(strings.Repeat("x", 250) + "\n")
	for _, name := range []string{"gathered", "each"} {
		b.Run(name, func(b *testing.B) {
			file, err := os.Create(filepath.Join(b.TempDir(), "log"))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			var out zerolog.LevelWriter = zerolog.LevelWriterAdapter{Writer: telemetry.Redact(file)}
			if name == "gathered" {
				out = telemetry.NewLines(telemetry.Redact(file))
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := out.WriteLevel(zerolog.InfoLevel, line); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

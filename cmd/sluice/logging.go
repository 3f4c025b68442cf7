package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// newLogger logs to standard error in the configured format; on a terminal, unless
// told otherwise, in one that people read.
func newLogger(stderr io.Writer, cfg config) zerolog.Logger {
	setLogFormat()
	format := cfg.LogFormat
	if format == "" && isTerminal(stderr) {
		format = "console"
	}
	if format == "console" {
		stderr = zerolog.ConsoleWriter{Out: stderr, TimeFormat: time.TimeOnly, NoColor: !isTerminal(stderr)}
	}
	return zerolog.New(stderr).Level(cfg.LogLevel).With().Timestamp().Logger()
}

// setLogFormat sets what the logging library keeps for the whole process.
var setLogFormat = sync.OnceFunc(func() {
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000Z07:00"
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	zerolog.DurationFieldUnit = time.Millisecond
})

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

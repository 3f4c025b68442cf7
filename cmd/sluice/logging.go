package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/telemetry"
)

// newLogger logs to standard error in the configured format; on a terminal, unless
// configured otherwise, in one that people read.
// Whatever has the shape of a secret is hidden, wherever it came from. Lines may wait
// for others until flush is called, which is to be done before the process ends.
func newLogger(stderr io.Writer, cfg config) (log zerolog.Logger, flush func()) {
	setLogFormat()
	terminal := isTerminal(stderr)
	visible := telemetry.Redact(cfg.hidden.Hide(telemetry.Hide(telemetry.Hide(stderr, cfg.OperatorToken), cfg.EncryptionKey)))
	if cfg.LogFormat == "console" || cfg.LogFormat == "" && terminal {
		flush = func() {}
		log = zerolog.New(zerolog.ConsoleWriter{
			Out: visible, TimeFormat: time.TimeOnly, NoColor: !terminal,
			FieldsOrder: []string{"method", "route", "path", "status", "code", "durationMs", "bytes"}, // the others follow by name
		})
	} else {
		lines := telemetry.NewLines(visible)
		flush = func() { _ = lines.Flush() } // a log that cannot be written to has nowhere to say so
		log = zerolog.New(lines)
	}
	log = log.Level(cfg.LogLevel).With().Timestamp().Logger()
	if cfg.tracesEndpoint != "" {
		log = log.Hook(telemetry.LogTraces{})
	}
	return log, flush
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

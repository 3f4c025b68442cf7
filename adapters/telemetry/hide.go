package telemetry

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// Hidden stands in the log where somebody wrote the operator's token into what is logged,
// such as the path of a request. Nothing but this could know it there.
const Hidden = "…"

// Hide returns a writer that hides a secret which has no shape that it could be known by,
// and passes the rest on; out itself for none. It finds the secret also where it was
// escaped, once or twice, as texts in JSON are. Each Write must hold whole lines, as for
// [Redact].
func Hide(out io.Writer, secret string) io.Writer {
	if secret == "" {
		return out
	}
	h := hider{out: out, spelled: [][]byte{[]byte(secret)}}
	for range 2 {
		escaped := strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(secret), `"`), `"`)
		if escaped == secret {
			break
		}
		secret = escaped
		h.spelled = append(h.spelled, []byte(secret))
	}
	return h
}

type hider struct {
	out     io.Writer
	spelled [][]byte // the secret, in each way that it may be written
}

// Write passes p on, and reports all of it as written even where less was.
func (h hider) Write(p []byte) (int, error) {
	clean := p
	for _, secret := range h.spelled {
		if bytes.Contains(clean, secret) {
			clean = bytes.ReplaceAll(clean, secret, []byte(Hidden))
		}
	}
	if _, err := h.out.Write(clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

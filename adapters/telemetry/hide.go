package telemetry

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
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
	var s Secrets
	s.Set(secret)
	return s.Hide(out)
}

// Secrets are such secrets, which may become others. The zero value has none. Many goroutines
// may use them.
type Secrets struct{ spelled atomic.Pointer[[][]byte] }

// Set replaces all of them.
func (s *Secrets) Set(secrets ...string) {
	var all [][]byte
	for _, secret := range secrets {
		all = append(all, spellings(secret)...)
	}
	s.spelled.Store(&all)
}

// Hide does for all of them what the function Hide does for one; nil has none.
func (s *Secrets) Hide(out io.Writer) io.Writer {
	if s == nil {
		return out
	}
	return hider{out, s}
}

// spellings are the ways in which a secret may be written.
func spellings(secret string) [][]byte {
	all := [][]byte{[]byte(secret)}
	for range 2 {
		escaped := strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(secret), `"`), `"`)
		if escaped == secret {
			break
		}
		secret = escaped
		all = append(all, []byte(secret))
	}
	return all
}

type hider struct {
	out     io.Writer
	secrets *Secrets
}

// Write passes p on, and reports all of it as written even where less was.
func (h hider) Write(p []byte) (int, error) {
	clean := p
	var spelled [][]byte
	if known := h.secrets.spelled.Load(); known != nil {
		spelled = *known
	}
	for _, secret := range spelled {
		if bytes.Contains(clean, secret) {
			clean = bytes.ReplaceAll(clean, secret, []byte(Hidden))
		}
	}
	if _, err := h.out.Write(clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

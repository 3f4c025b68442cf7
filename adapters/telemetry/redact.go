package telemetry

import (
	"bytes"
	"io"
)

// Redacted stands in the log where a secret was found. That it is there at all is a
// defect: what writes a line keeps secrets out of it, and this is the last look.
const Redacted = "[redacted]"

// minSecret is how many characters behind a prefix make a secret. A key has 40; half
// of one, cut off, is kept secret as well. Words of a language and of the code are
// shorter.
const minSecret = 16

// Redact returns a writer that hides whatever has the shape of an API key (pk_ or sk_
// and base62), of the token of a hook's address (htk_ and base32) or of a webhook endpoint's secret (whsec_ and base64), and passes the
// rest on. Each Write must hold whole lines, as those of loggers do: a secret that is
// split over two is not seen. A line without a secret is passed on as it is, after a
// search for underscores.
func Redact(out io.Writer) io.Writer { return redactor{out} }

type redactor struct{ out io.Writer }

// Write passes p on, and reports all of it as written even where less was.
func (r redactor) Write(p []byte) (int, error) {
	clean, found := redact(p)
	if !found {
		return r.out.Write(p)
	}
	if _, err := r.out.Write(clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

// redact returns the text without its secrets, and whether there was any. The text
// itself is left as it is.
func redact(text []byte) (clean []byte, found bool) {
	kept := 0 // how much of the text is in clean, or need not be
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '_')
		if i < 0 {
			break
		}
		at += i + 1
		isSecret := secretBehind(text[:at])
		if isSecret == nil {
			continue
		}
		begin := at
		for at < len(text) && isSecret(text[at]) {
			at++
		}
		if at-begin >= minSecret {
			clean = append(append(clean, text[kept:begin]...), Redacted...)
			kept, found = at, true
		}
	}
	if !found {
		return nil, false
	}
	return append(clean, text[kept:]...), true
}

// secretBehind says which characters a secret is made of that follows what text ends
// with; nil where none follows.
func secretBehind(text []byte) func(byte) bool {
	switch {
	case bytes.HasSuffix(text, []byte("sk_")), bytes.HasSuffix(text, []byte("pk_")), bytes.HasSuffix(text, []byte("htk_")):
		return isBase62
	case bytes.HasSuffix(text, []byte("whsec_")):
		return isBase64
	default:
		return nil
	}
}

func isBase62(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// isBase64 accepts both alphabets (RFC 4648, sections 4 and 5).
func isBase64(c byte) bool {
	return isBase62(c) || c == '+' || c == '/' || c == '=' || c == '-' || c == '_'
}

package connection

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// leastSearched is how many bytes a secret has at least that is searched for: a shorter one
// stands everywhere by chance.
const leastSearched = 4

// leastInside is the same for what is searched for in base64 with others around it, of which some
// bits depend on them.
const leastInside = 8

// Redactor replaces the text of a secret in what comes back from outside, in each of the
// spellings that servers reflect it in: as it is, percent-encoded, in base64, in hex and
// escaped for HTML or JSON. The zero value finds nothing.
type Redactor struct {
	mark     string
	forms    []Text
	replacer *strings.Replacer
}

// newRedactor searches for the texts and their spellings.
func newRedactor(of ID, texts ...string) Redactor {
	var forms []string
	for _, text := range texts {
		if len(text) < leastSearched {
			continue
		}
		for _, form := range spellings(text) {
			if len(form) >= leastSearched && !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
	}
	if len(forms) == 0 {
		return Redactor{}
	}
	// The longest comes first, so that no part of one is left.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r := Redactor{mark: Mark(of)}
	var pairs []string
	for _, form := range forms {
		r.forms = append(r.forms, NewText(form))
		pairs = append(pairs, form, r.mark)
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// Mark stands where the secret of a connection was.
func Mark(of ID) string { return "[redacted:" + string(of) + "]" }

// spellings are the ways in which a text is reflected.
func spellings(text string) []string {
	query, path := url.QueryEscape(text), url.PathEscape(text)
	quoted, _ := json.Marshal(text)
	inJSON := strings.Trim(string(quoted), `"`)
	raw := []byte(text)
	forms := []string{
		text, strings.TrimSpace(text), query, path, lowerHex(query), lowerHex(path), strings.ReplaceAll(query, "+", "%20"),
		percentEncoded(text), lowerHex(percentEncoded(text)), inJSON, html.EscapeString(text), hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		// Without padding, so that it is found with it, too.
		forms = append(forms, strings.TrimRight(e.EncodeToString(raw), "="))
		if len(raw) >= leastInside {
			forms = append(forms, insideBase64(e, raw)...)
		}
	}
	return forms
}

// insideBase64 is how bytes look in base64 with others around them, of which there are three ways:
// without the characters that depend on the others, too.
func insideBase64(e *base64.Encoding, raw []byte) (forms []string) {
	const bits = 6 // of a character
	for before := range 3 {
		text := e.EncodeToString(append(make([]byte, before), raw...))
		forms = append(forms, text[(8*before+bits-1)/bits:8*(before+len(raw))/bits])
	}
	return forms
}

// percentEncoded encodes everything but letters, digits and -._~ (RFC 3986, §2.3), a space
// as %20.
func percentEncoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == '~':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteString(strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return b.String()
}

// lowerHex writes percent-encodings in lower case, as some servers do.
func lowerHex(encoded string) string {
	b := []byte(encoded)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// IsZero says whether it finds nothing.
func (r Redactor) IsZero() bool { return r.replacer == nil }

// Text replaces the secret in a text, and says whether it was there.
func (r Redactor) Text(text string) (redacted string, found bool) {
	if r.replacer == nil {
		return text, false
	}
	redacted = r.replacer.Replace(text)
	return redacted, redacted != text
}

// Holds says whether the secret is in a text, whatever its case, since names of hosts have
// none.
func (r Redactor) Holds(text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(r.forms, func(form Text) bool { return strings.Contains(lower, strings.ToLower(form.Reveal())) })
}

// JSON replaces the secret in the strings, the names and the numbers of valid JSON, which
// stays valid. A number that holds it becomes a string.
func (r Redactor) JSON(text []byte) (redacted []byte, found bool) {
	if r.IsZero() {
		return text, false
	}
	if !bytes.ContainsRune(text, '\\') {
		if _, held := r.Text(string(text)); !held {
			return text, false
		}
	}
	var out []byte
	kept := 0
	replace := func(from, to int, with string) {
		quoted, _ := json.Marshal(with)
		out = append(append(out, text[kept:from]...), quoted...)
		kept, found = to, true
	}
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case c == '"':
			end := domain.EndOfString(text, at) + 1
			if clean, held := r.quoted(text[at:min(end, len(text))]); held {
				replace(at, end, clean)
			}
			at = end
		case c == '-' || '0' <= c && c <= '9':
			end := at
			for end < len(text) && strings.IndexByte("+-.eE0123456789", text[end]) >= 0 {
				end++
			}
			if clean, held := r.Text(string(text[at:end])); held {
				replace(at, end, clean)
			}
			at = end
		default:
			at++
		}
	}
	if !found {
		return text, false
	}
	return append(out, text[kept:]...), true
}

// quoted searches a string of JSON, as it is spelled and as what it means.
func (r Redactor) quoted(literal []byte) (clean string, found bool) {
	var meant string
	if !bytes.ContainsRune(literal, '\\') {
		return r.Text(string(bytes.Trim(literal, `"`)))
	}
	if json.Unmarshal(literal, &meant) != nil {
		return "", false
	}
	clean, found = r.Text(meant)
	return clean, found
}

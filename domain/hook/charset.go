package hook

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeText reads bytes of a charset, an empty one of which is UTF-8. A byte order mark decides against what is declared (Encoding
// Standard, §6, "decode"). ok is false for a charset that is not known, and for bytes that are no text of theirs.
func decodeText(body []byte, charset string) (text string, ok bool) {
	if rest, found := bytes.CutPrefix(body, []byte("\xEF\xBB\xBF")); found {
		body, charset = rest, "utf-8"
	} else if bytes.HasPrefix(body, []byte("\xFE\xFF")) {
		body, charset = body[2:], "utf-16be"
	} else if bytes.HasPrefix(body, []byte("\xFF\xFE")) {
		body, charset = body[2:], "utf-16le"
	}
	switch charset {
	case "", "utf-8", "utf8":
		text = string(body)
	case "us-ascii", "ascii", "iso-8859-1", "iso8859-1", "latin1", "windows-1252", "cp1252":
		text = decodeLatin(body)
	case "utf-16le", "utf-16be", "utf-16":
		text, ok = decodeUTF16(body, charset == "utf-16be" || charset == "utf-16") // big-endian without a mark (RFC 2781, §4.3)
		return text, ok && isText(text)
	default:
		return "", false
	}
	return text, isText(text)
}

// latinHigh are the characters from 0x80 to 0x9F of windows-1252, which is what senders of iso-8859-1 mean (Encoding Standard, §4.2).
var latinHigh = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

func decodeLatin(body []byte) string {
	var b strings.Builder
	b.Grow(len(body) + len(body)/8)
	for _, c := range body {
		if c >= 0x80 && c <= 0x9F {
			b.WriteRune(latinHigh[c-0x80])
		} else {
			b.WriteRune(rune(c))
		}
	}
	return b.String()
}

func decodeUTF16(body []byte, bigEndian bool) (text string, ok bool) {
	if len(body)%2 != 0 {
		return "", false
	}
	var b strings.Builder
	b.Grow(len(body))
	unit := func(i int) rune {
		if bigEndian {
			return rune(body[i])<<8 | rune(body[i+1])
		}
		return rune(body[i+1])<<8 | rune(body[i])
	}
	for i := 0; i < len(body); i += 2 {
		c := unit(i)
		if utf16.IsSurrogate(c) {
			if i+4 > len(body) {
				return "", false
			}
			if c = utf16.DecodeRune(c, unit(i+2)); c == utf8.RuneError {
				return "", false
			}
			i += 2
		}
		b.WriteRune(c)
	}
	return b.String(), true
}

var xmlEncoding = regexp.MustCompile(`^<\?xml[^>]{0,200}\sencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']`)

// xmlCharset is what the declaration of a document says; empty for nothing (XML 1.0, §4.3.3).
func xmlCharset(body []byte) string {
	found := xmlEncoding.FindSubmatch(body[:min(len(body), 300)])
	if found == nil {
		return ""
	}
	return strings.ToLower(string(found[1]))
}

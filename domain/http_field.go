package domain

import (
	"net/textproto"
	"slices"
	"strings"
)

// managedHeaders belong to the connection, which the gateway manages, or to the way it
// reads the answer (RFC 9110, §7.6.1 and §12.5.3).
var managedHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// IsManagedHeader says whether the gateway itself sets the header of a call, in any spelling.
func IsManagedHeader(name string) bool {
	return slices.Contains(managedHeaders, textproto.CanonicalMIMEHeaderKey(name))
}

// IsHeaderName says whether the text may be the name of a header (RFC 9110, §5.6.2).
func IsHeaderName(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return text != ""
}

// IsHeaderValue says whether the text may be the value of a header (RFC 9110, §5.5).
func IsHeaderValue(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

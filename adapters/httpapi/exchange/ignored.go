package exchange

import (
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
)

// Bounds of the header that lists what was ignored.
const (
	maxIgnored      = 20
	maxIgnoredBytes = 2 << 10
)

// Parameters reads the query of a request.
func Parameters(c *gin.Context) (jsonread.Query, error) {
	s := StateOf(c)
	if s.parsed {
		return s.query, nil
	}
	var err error
	s.query, err = jsonread.ParseQuery(c.Request.URL.RawQuery)
	s.parsed = err == nil
	return s.query, err
}

// ReportIgnored lists the parameters that nobody has asked for in a header of the answer,
// whatever that is. For a strict operation, and for a client that prefers it so (RFC 7240,
// "handling"), they are an error instead. Reading a body and answering a list, a record or a
// deletion does this by itself.
func ReportIgnored(c *gin.Context) error { return StateOf(c).reportIgnored(c, nil) }

// reportIgnored reports the paths of members of the body as well. Only the first call for a
// request has an effect.
func (s *State) reportIgnored(c *gin.Context, paths []string) error {
	if s.reported {
		return nil
	}
	s.reported = true
	query, err := Parameters(c)
	if err != nil {
		return err
	}
	paths = append(paths, query.Ignored()...)
	preferred := prefersStrict(c.Request.Header["Prefer"])
	if preferred {
		c.Header("Preference-Applied", "handling=strict")
	}
	switch {
	case len(paths) == 0:
		return nil
	case preferred || s.Strict:
		return errUnknownMember(paths)
	}
	c.Header("X-Ignored-Members", listed(paths))
	return nil
}

func errUnknownMember(paths []string) error {
	var r domain.Rules
	for _, path := range paths {
		r.Check(false, path, domain.Unknown, "is not known to this operation")
	}
	return r.Err("unknown_member", "The request has members or parameters that this operation does not know.")
}

// listed lists as many paths as the header may hold, percent-encoded. Commas in them are
// encoded, too.
func listed(paths []string) string {
	var b strings.Builder
	count := 0
	for _, path := range paths {
		text := percentEncode(path)
		if count < maxIgnored && b.Len()+len(", ")+len(text) <= maxIgnoredBytes {
			if count > 0 {
				b.WriteString(", ")
			}
			b.WriteString(text)
			count++
		}
	}
	return b.String()
}

// percentEncode encodes what is not printable ASCII, the percent sign and the comma.
func percentEncode(text string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' || c == '%' || c == ',' {
			b.Write([]byte{'%', hex[c>>4], hex[c&0xf]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

package exchange

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain"
)

// SetETag names the revision of the record in the answer (RFC 9110, "ETag").
func SetETag(c *gin.Context, revision int64) {
	c.Header("ETag", etagOf(revision))
}

func etagOf(revision int64) string { return strconv.Quote(strconv.FormatInt(revision, 10)) }

// AnswerRecord answers with a record that was read or changed, or returns the error: 304
// where the client has it already.
func AnswerRecord[T interface{ Revision() int64 }](c *gin.Context, record T, err error, render func(T) any) error {
	if err := cmp.Or(err, ReportIgnored(c)); err != nil {
		return err
	}
	if notModified(c, etagOf(record.Revision())) {
		return nil
	}
	return WriteJSON(c, http.StatusOK, render(record))
}

// notModified sets the ETag of what is read, and answers 304 if the client has it (RFC 9110,
// "If-None-Match").
func notModified(c *gin.Context, etag string) bool {
	h := c.Writer.Header()
	h.Set("ETag", etag)
	if method := c.Request.Method; method != http.MethodGet && method != http.MethodHead {
		return false
	}
	for _, tag := range splitUnquoted(strings.Join(c.Request.Header.Values("If-None-Match"), ","), ',') {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			h["Cache-Control"] = noStore
			c.Status(http.StatusNotModified)
			c.Writer.WriteHeaderNow()
			return true
		}
	}
	return false
}

// Expected reads which revisions the client is ready to change (RFC 9110,
// "If-Match"). Tags that are weak, or not ours, match no revision.
func Expected(c *gin.Context) domain.Expected {
	sent := c.Request.Header.Values("If-Match")
	if len(sent) == 0 {
		return domain.Expected{}
	}
	var revisions []int64
	for _, tag := range splitUnquoted(strings.Join(sent, ","), ',') {
		tag = strings.TrimSpace(tag)
		if tag == "*" {
			return domain.Expected{}
		}
		if inside, ok := strings.CutPrefix(tag, `"`); ok {
			if n, err := strconv.ParseInt(strings.TrimSuffix(inside, `"`), 10, 64); err == nil {
				revisions = append(revisions, n)
			}
		}
	}
	return domain.ExpectOneOf(revisions...)
}

// PathID reads an identifier from the path. One that is spelled wrong becomes the
// empty one, which no record has, so it is answered like any that does not exist and
// never reaches the database.
func PathID[T ~string](c *gin.Context, name, prefix string) T {
	return KnownID[T](c.Param(name), prefix)
}

// KnownID returns an identifier that is spelled right, else the empty one.
func KnownID[T ~string](id, prefix string) T {
	if !domain.ValidIdentifier(id, prefix) {
		return ""
	}
	return T(id)
}

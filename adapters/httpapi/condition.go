package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain"
)

// setETag names the revision of the record in the answer (RFC 9110, "ETag").
func setETag(c *gin.Context, revision int64) {
	c.Header("ETag", strconv.Quote(strconv.FormatInt(revision, 10)))
}

// expected reads which revisions the client is ready to change (RFC 9110,
// "If-Match"). Tags that are weak, or not ours, match no revision.
func expected(c *gin.Context) domain.Expected {
	sent := c.Request.Header.Values("If-Match")
	if len(sent) == 0 {
		return domain.Expected{}
	}
	var revisions []int64
	for tag := range strings.SplitSeq(strings.Join(sent, ","), ",") {
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

// pathID reads an identifier from the path. One that is spelled wrong becomes the
// empty one, which no record has, so it is answered like any that does not exist and
// never reaches the database.
func pathID[T ~string](c *gin.Context, name, prefix string) T {
	return knownID[T](c.Param(name), prefix)
}

func knownID[T ~string](id, prefix string) T {
	if !domain.ValidIdentifier(id, prefix) {
		return ""
	}
	return T(id)
}

// noContent answers with nothing, as a DELETE is.
func noContent(c *gin.Context) error {
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
	return nil
}

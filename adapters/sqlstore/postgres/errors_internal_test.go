package postgres

import (
	"errors"
	"testing"

	"github.com/lib/pq"

	"github.com/sluicehq/sluice/domain"
)

func TestAServerThatRefusesWritesIsToldFromADefect(t *testing.T) {
	for claim, c := range map[string]struct {
		err  pq.Error
		want string
	}{
		"no room on the disk":           {pq.Error{Code: diskFull}, "database_read_only"},
		"a transaction that only reads": {pq.Error{Code: readOnlyTransaction}, "database_read_only"},
		"a standby asked to write":      {pq.Error{Code: notSupported, Routine: checksSetting}, "database_read_only"},
		"a plan that is out of date":    {pq.Error{Code: notSupported, Routine: "RevalidateCachedQuery"}, ""},
	} {
		var e *domain.Error
		code := ""
		if errors.As(translate(&c.err), &e) {
			code = e.Code
		}
		if code != c.want {
			t.Errorf("%s is %q", claim, code)
		}
	}
}

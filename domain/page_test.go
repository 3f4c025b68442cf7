package domain_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
)

func TestAPageThatIsTooLargeSaysHowManyFit(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		page domain.PageTooLarge
		want string
	}{
		"a part of them":           {domain.PageTooLarge{Records: 100, Bytes: 1000, MaxBytes: 320}, "must be less, such as 32: the 100 records of this page take 1000 bytes, and may take 320"},
		"one at the least":         {domain.PageTooLarge{Records: 2, Bytes: 1000, MaxBytes: 320}, "must be less, such as 1: the 2 records of this page take 1000 bytes, and may take 320"},
		"none, where there is one": {domain.PageTooLarge{Records: 1, Bytes: 1000, MaxBytes: 320}, "cannot make the page small enough: its one record takes 1000 bytes, and may take 320; read it by its identifier"},
	} {
		err := fmt.Errorf("list triggers: %w", &c.page)
		var told *domain.Error
		var size *domain.PageTooLarge
		if !errors.As(err, &told) || !errors.As(err, &size) || *size != c.page || !errors.Is(err, domain.Invalid) || told.Code != "page_too_large" {
			t.Fatalf("%s: %v", claim, err)
		}
		if diff := cmp.Diff([]domain.Violation{{Field: "limit", Code: domain.TooLarge, Message: c.want}}, told.Violations); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

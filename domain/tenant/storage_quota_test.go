package tenant_test

import (
	"errors"
	"math"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestMoreIsKeptAsLongAsThereIsRoom(t *testing.T) {
	for _, c := range []struct {
		quota      tenant.StorageQuota
		kept, more int64
		ok         bool
	}{
		{100, 0, 100, true}, {100, 0, 101, false}, {100, 60, 40, true}, {100, 60, 41, false}, {100, 100, 0, true}, {100, 101, 0, false},
		{100, -5, 100, true}, {0, math.MaxInt64, 1, true}, {1, 0, math.MaxInt64, false},
	} {
		err := c.quota.Check(c.kept, c.more)
		var e *domain.Error
		if c.ok != (err == nil) || !c.ok && (!errors.As(err, &e) || e.Kind != domain.Conflict || e.Code != "storage_exceeded") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestARefusalSaysHowMuchIsKeptAndMayBe(t *testing.T) {
	for kept, want := range map[int64]string{
		1000: "1000 bytes", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 11<<30 + 1<<29: "11.5 GiB", 1 << 30: "1.0 GiB", 2000 << 40: "1.9 PiB", 1<<20 - 1: "1023.9 KiB",
	} {
		err := tenant.StorageQuota(500).Check(kept, 0)
		message := "The runs of this tenant take " + want + ", and at most 500 bytes are kept. Runs are removed some days after they have ended. " +
			"Ask the operator for more storage, or to keep runs for fewer days."
		var e *domain.Error
		if !errors.As(err, &e) || e.Message != message {
			t.Errorf("%d: %v", kept, err)
		}
	}
}

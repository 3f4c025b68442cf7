package tenant

import (
	"fmt"

	"github.com/sluicehq/sluice/domain"
)

// StorageQuota is how many bytes of runs are kept for one tenant; 0 for any number.
type StorageQuota int64

// Check returns why no more bytes are kept: a Conflict with the code storage_exceeded.
func (q StorageQuota) Check(kept, more int64) error {
	if q <= 0 || kept <= int64(q)-more {
		return nil
	}
	return domain.Fail(domain.Conflict, "storage_exceeded",
		"The runs of this tenant take %s, and at most %s are kept. Runs are removed some days after they have ended. "+
			"Ask the operator for more storage, or to keep runs for fewer days.", bytesText(kept), bytesText(int64(q)))
}

// bytesText writes a size for people, rounded down.
func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	value, suffix := n, 0
	for value >= unit*unit {
		value, suffix = value/unit, suffix+1
	}
	return fmt.Sprintf("%d.%d %ciB", value/unit, value%unit*10/unit, "KMGTPE"[suffix])
}

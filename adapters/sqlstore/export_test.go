package sqlstore

import (
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
)

// PruneChain is the statement that prunes a chain.
const PruneChain = pruneChain

// PageOfAuditLog is the statement that reads a page of a log, and the one that counts all that fit; the last two arguments are the page's.
func PageOfAuditLog(owner tenant.ID, f audit.Filter, q domain.Query) (page, count string, args []any, err error) {
	l := auditList(owner, f)
	page, count, err = auditPage(l, q)
	return page, count, l.Args, err
}

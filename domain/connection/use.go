package connection

import "github.com/sluicehq/sluice/domain"

// Use is something that names a connection, which therefore cannot be deleted.
type Use struct {
	Kind UseKind
	ID   string // of the version, the endpoint or the trigger
}

// UseKind says what names a connection.
type UseKind string

// What names connections.
const (
	UsedByVersion  UseKind = "workflowVersion"
	UsedByEndpoint UseKind = "webhookEndpoint"
	UsedByHook     UseKind = "hook"
)

// MaxUses is how many uses an error lists.
const MaxUses = 100

// InUse is the Conflict of deleting a connection that is named, with the code
// connection_in_use and what names it.
func InUse(by []Use) error {
	e := domain.Fail(domain.Conflict, "connection_in_use",
		"The connection is in use by what usedBy lists. Take it out there first, or switch it off with isActive.")
	for _, u := range by {
		e.UsedBy = append(e.UsedBy, domain.RecordName{Kind: string(u.Kind), ID: u.ID})
	}
	return e
}

package event

import (
	"strconv"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/usage"
)

// NewUsageThreshold is the event of a tenant that has used so much of a budget. It happens once in a month.
func NewUsageThreshold(id ID, t usage.Threshold, at time.Time) *Event {
	data := `{"budget":` + quote(string(t.Budget)) + `,"percent":` + strconv.Itoa(t.Percent) + `,"limit":` + strconv.FormatInt(t.Limit, 10) +
		`,"used":` + strconv.FormatInt(t.Used, 10) + `,"month":` + quote(string(t.Month[:len("2006-01")])) + `}`
	return Restore(State{ID: id, Tenant: t.Tenant, Type: UsageThreshold, At: at, Data: domain.RestoreDocument(data)})
}

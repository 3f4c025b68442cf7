package sqlite

import (
	"database/sql/driver"
	"time"

	"modernc.org/sqlite"
)

// clock is the time now as the driver writes it: without the zeros at the end of the
// fraction, so that the order of texts is that of times. It is Go's clock, so that it
// passes in a bubble of testing/synctest as all others do.
const clock = "sluice_now()"

func init() {
	sqlite.MustRegisterScalarFunction("sluice_now", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return time.Now().UTC().Truncate(time.Millisecond).Format("2006-01-02 15:04:05.999-07:00"), nil
	})
}

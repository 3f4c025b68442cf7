package postgres

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/lib/pq"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
)

// SQLSTATE codes and classes (PostgreSQL manual, appendix A).
const (
	uniqueViolation     = "23505"
	foreignKeyViolation = "23503"
	serializationClash  = "40001"
	deadlock            = "40P01"
	lockNotAvailable    = "55P03"
	idleTooLong         = "25P03" // in a transaction
	tooManyConnections  = "53300"
	diskFull            = "53100"
	readOnlyTransaction = "25006" // on a standby every one is
	notSupported        = "0A000"
	connectionClass     = "08"
	operatorClass       = "57P" // shut down, crashed, starting
)

// checksSetting is where the server refuses a value of a setting. The only one that is set
// in a way that it can refuse is that a transaction writes, which a standby does.
const checksSetting = "call_bool_check_hook"

// translate says what an error of lib/pq means. What is in no table stays as it is,
// which is Internal.
func translate(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var e *pq.Error
	if !errors.As(err, &e) {
		if lostConnection(err) {
			return core.Unavailable(err)
		}
		return err
	}
	switch code := string(e.Code); {
	case code == uniqueViolation:
		if conflict := sqlstore.UniqueConflict(e.Constraint); conflict != nil {
			return conflict.Because(err)
		}
		return err
	case code == foreignKeyViolation, code == serializationClash, code == deadlock, code == lockNotAvailable:
		return &core.Collision{Cause: err}
	case code == tooManyConnections, code == idleTooLong, strings.HasPrefix(code, connectionClass), strings.HasPrefix(code, operatorClass):
		return core.Unavailable(err)
	case code == diskFull:
		return core.DiskFull(err)
	case code == readOnlyTransaction, code == notSupported && e.Routine == checksSetting:
		return core.ReadOnly(err)
	default:
		return err
	}
}

func lostConnection(err error) bool {
	var netErr net.Error
	var opErr *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &opErr) || errors.As(err, &netErr)
}

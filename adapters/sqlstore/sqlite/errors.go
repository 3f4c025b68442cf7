package sqlite

import (
	"database/sql"
	"errors"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
)

// uniqueIndexes gives the name of the unique index that SQLite's message describes
// by its columns.
var uniqueIndexes = map[string]string{
	"workflows.tenant_id, workflows.sub_tenant_id, workflows.name":                            "workflows_name",
	"custom_node_versions.tenant_id, custom_node_versions.type, custom_node_versions.version": "custom_node_versions_taken",
	"sub_tenants.tenant_id, sub_tenants.sub_tenant_id":                                        "sub_tenants_identifier",
	"hooks.tenant_id, hooks.trigger_id":                                                       "hooks_taken",
	"users.email":                                                                             "users_email",
	"users.issuer, users.subject":                                                             "users_identity",
	"memberships.user_id, memberships.tenant_id":                                              "memberships_user",
}

// translate says what an error of the driver means. What is in no table stays as
// it is, which is Internal.
func translate(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY:
		for columns, index := range uniqueIndexes {
			if strings.Contains(e.Error(), columns) {
				return sqlstore.UniqueConflict(index).Because(err)
			}
		}
		return err
	case lib.SQLITE_CONSTRAINT_FOREIGNKEY:
		return &core.Collision{Cause: err}
	case lib.SQLITE_FULL:
		return core.DiskFull(err)
	case lib.SQLITE_CANTOPEN:
		return core.Unavailable(err)
	}
	switch e.Code() & 0xff { // the primary code below the extended one
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return &core.Collision{Cause: err}
	case lib.SQLITE_READONLY:
		return core.ReadOnly(err)
	case lib.SQLITE_IOERR:
		return core.Unavailable(err)
	default:
		return err
	}
}

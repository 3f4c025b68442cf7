package main

import (
	"errors"
	"fmt"
)

// role is what a process of the gateway does. With SQLite there is one process, which
// does everything.
type role string

const (
	roleAll    role = "all"
	roleAPI    role = "api"    // answers requests
	roleWorker role = "worker" // fires schedules, moves runs on, delivers webhooks, sweeps; answers health checks
)

var errRole = errors.New("the role")

// check refuses a role that does not exist, and one that would leave half of the work
// to a process that cannot exist.
func (r role) check(address string) error {
	db, err := databaseOf(address)
	switch {
	case err != nil:
		return err
	case r == roleAll:
		return nil
	case r != roleAPI && r != roleWorker:
		return fmt.Errorf("%w: %w must be all, api or worker, not %q", errConfiguration, errRole, string(r))
	case db.sqliteFile != "":
		return fmt.Errorf("%w: %w %s shares its database with processes of the other role, which takes PostgreSQL; with SQLite one process does everything",
			errConfiguration, errRole, r)
	default:
		return nil
	}
}

// serves says whether processes of the role answer the API.
func (r role) serves() bool { return r != roleWorker }

// works says whether processes of the role do what nobody asks for over the API.
func (r role) works() bool { return r != roleAPI }

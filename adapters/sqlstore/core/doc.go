// Package core is what all repositories on a relational database have in common: the
// database itself, units of work, lists, scopes, and what differs between PostgreSQL and
// SQLite. It knows no tables but its own few.
package core

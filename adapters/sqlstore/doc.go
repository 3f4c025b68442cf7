// Package sqlstore is the driven adapter that keeps everything in a relational
// database through sqlx. Its repositories are written once for PostgreSQL and
// SQLite; what differs between the two is a [Dialect], and the packages postgres
// and sqlite below it each open a database, bring its schema up to date and
// translate its driver's errors.
//
// All statements use the placeholders $1, $2 and so on, which both drivers accept,
// and are prepared once for each connection.
package sqlstore

// Package sqlstore is the driven adapter that keeps everything in a relational
// database through sqlx. Its repositories are written once for PostgreSQL and
// SQLite; what differs between the two is a [Dialect], and the packages postgres
// and sqlite below it each open a database, bring its schema up to date and
// translate its driver's errors.
//
// Package core below it has what all repositories need, and imports none of the others.
// Those of runs and of webhooks have packages of their own on top of it, which do not know
// each other. The others are here, where all of them are put together.
//
// All statements use the placeholders $1, $2 and so on, which both drivers accept,
// and are prepared once for each connection.
package sqlstore

// Package httpapi is the driving adapter that serves the gateway's JSON API over
// HTTP with Gin. A handler binds, converts, calls an inbound port and answers; what
// is permitted, what is valid and what happens is decided behind the ports.
//
// Two tables hold what concerns every route: routes.go says which operation a route
// performs, exchange/errors.go which status a kind of error becomes. The contract is
// openapi/openapi.yaml, and tests validate every answer against it.
package httpapi

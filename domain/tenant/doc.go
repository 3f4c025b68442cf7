// Package tenant holds who uses the gateway and what they may do: the tenant with
// its settings, its API keys, the table of operations each type of key may
// perform, and the quota each type of key has.
package tenant

// Package outbound says what the gateway needs: stores inside a unit of work, a
// clock, identifiers. Package application calls these interfaces and the driven
// adapters implement them. Each method's comment is its contract, and package
// portstest holds a test for each of its sentences that every adapter runs.
package outbound

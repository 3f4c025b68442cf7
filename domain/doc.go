// Package domain holds what every aggregate of the gateway shares: the kinds of
// error, the collector of broken rules, pages of a list, identifiers, JSON
// documents that come back as they were sent, commands that take effect once, and the
// secrets that sign what tenants are sent.
//
// The packages below it are the aggregates. They import the standard library and
// one another only, in the order tenant, node, workflow, trigger, hook, run, event, and
// they read no clock, no randomness and no file and write no log: the time and every
// random byte are arguments. They can therefore be imported and unit-tested
// without the rest of the gateway.
package domain

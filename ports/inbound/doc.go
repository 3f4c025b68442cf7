// Package inbound says what the gateway can be asked: one interface for each
// aggregate. Driving adapters (the HTTP API, the command line) call them and
// package application implements them. Each method's comment is its contract.
//
// Every call that acts for a tenant takes the tenant.Caller, and another tenant's
// records are reported exactly as records that do not exist.
package inbound

// Package event holds outgoing events, the webhook endpoints that subscribe to them, and
// the delivery of each event to each endpoint, signed and timed as Standard Webhooks asks (https://www.standardwebhooks.com, 1.0).
package event

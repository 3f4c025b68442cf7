// Package webhook is the driven adapter that sends signed messages to the webhook
// endpoints of tenants (Standard Webhooks 1.0).
//
// It calls through a client that it is given, and leaves to it where a call may go. An
// error of the client's that is a *domain.Error becomes an outcome with its code and
// its message. Any other error of it is a failure of the network, of which the text is
// not passed on.
//
// # The codes of failures
//
//   - unexpected_status: the endpoint answered something other than 2xx
//   - timeout, connection_failed
//   - url_invalid: the URL cannot be called
//   - those of the client, such as address_refused
package webhook

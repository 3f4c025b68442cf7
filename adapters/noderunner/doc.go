// Package noderunner is the driven adapter that makes the attempts at nodes: it makes
// the calls of httpRequest nodes, calls the endpoints of custom nodes and has code run.
//
// It calls through clients that it is given, and leaves to them where a call may go.
// An error of theirs that is a *domain.Error becomes a failure with its code and its
// message, retryable when its kind is Unavailable. Any other error of theirs is a
// failure of the network, of which the text is not passed on.
//
// # The codes of failures
//
//   - config_invalid: the resolved configuration of an httpRequest cannot be used
//   - unexpected_status: another status than expected; retryable when it is 408, 425,
//     429 or 5xx
//   - timeout, connection_failed: retryable
//   - endpoint_missing, secret_missing: a custom node cannot be called
//   - answer_invalid: a custom node answered against the protocol, or with a number beyond
//     what a double can hold, such as 1e400
//   - pause_not_allowed: a custom node that cannot pause asked to
//   - node_type_invalid: a built-in node that has no effect outside
//   - code_disabled: the operator has switched code off; code_unavailable, retryable: it
//     cannot be run here
//   - those of outbound.CodeRunner
//   - host_not_allowed, tls_required, client_certificate_refused: the credential of the
//     connection may not be sent there; nothing was sent
//   - those of the clients, such as address_refused, response_too_large and
//     response_headers_too_large
//   - those that custom nodes give
package noderunner

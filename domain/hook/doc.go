// Package hook holds how third parties that have no API key start runs: the schemes by which they
// sign what they send, what a run gets of a delivery, and what a delivery is answered with.
//
// Schemes are data. A [Scheme] names a preset, which follows what its sender documents, or
// describes a kind. [Scheme.Verify] says whether a [Request] is genuine, from the bytes as they
// were received, and answers the sender's challenge. [Scheme.Explain] says why one is not.
// [Scheme.Payload] is what the run gets.
package hook

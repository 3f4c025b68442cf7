// Package audit has the entries of the audit log, and the chain that shows whether one was altered or is missing.
package audit

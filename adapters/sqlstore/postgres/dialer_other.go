//go:build !linux

package postgres

import "syscall"

// setUserTimeout leaves it to the system how long what was sent may stay unacknowledged.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }

//go:build noaccounting

package run

// AccountingEnabled is explained in accounting.go.
const AccountingEnabled = false

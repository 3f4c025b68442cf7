//go:build !noaccounting

package run

// AccountingEnabled says whether memory and turns to compute are reserved, values are weighed, and kept bytes are counted.
// A build with the tag noaccounting shows what that costs, and is good for nothing else: a tenant can bring it down.
const AccountingEnabled = true

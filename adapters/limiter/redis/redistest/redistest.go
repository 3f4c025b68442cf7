// Package redistest gives tests a real Redis or Valkey: the one that TEST_REDIS_URL
// names, or one that it starts. It installs the program if it must and can, and never
// skips a test.
package redistest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"sync"
	"testing"
)

// AddressVariable is the environment variable that names a server for the tests, as
// redis://, rediss:// or unix://. Tests leave nothing there that does not expire.
const AddressVariable = "TEST_REDIS_URL"

var shared struct {
	once     sync.Once
	address  string
	instance *Instance // nil when TEST_REDIS_URL names the server
	err      error
}

// Main runs the tests of a package and stops the server that they started. Call it from
// TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if shared.instance != nil {
		shared.instance.Stop()
	}
	os.Exit(code)
}

// Start returns the URL of the server that all tests of this process share, and starts
// it the first time. TestMain must call [Main]. Each test needs its own [Prefix].
func Start(tb testing.TB) (address string) {
	tb.Helper()
	shared.once.Do(func() {
		if shared.address = os.Getenv(AddressVariable); shared.address != "" {
			return
		}
		if shared.instance, shared.err = Launch(context.Background()); shared.err == nil {
			shared.address = shared.instance.URL
		}
	})
	if shared.err != nil {
		tb.Fatalf("no Redis for the tests: %v", shared.err)
	}
	return shared.address
}

// Prefix begins the names of the keys of one test.
func Prefix() string { return fmt.Sprintf("test:%s:", rand.Text()) }

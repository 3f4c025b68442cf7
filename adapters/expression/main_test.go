package expression

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws the same expressions in every run unless told otherwise, so that a failure can
// be repeated. To explore:
// go test ./adapters/expression -rapid.seed=N.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.seed" })
	if !given {
		if err := flag.Set("rapid.seed", "20261121"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

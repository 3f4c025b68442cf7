package secrets_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/secrets"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

var keys = []string{secrets.GenerateKey(), secrets.GenerateKey()}

func local(t *testing.T, key string) *secrets.Local {
	t.Helper()
	l, err := secrets.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLocal(t *testing.T) {
	portstest.KeyWrapper(t, func(t *testing.T) outbound.KeyWrapper { return local(t, keys[0]) },
		func(t *testing.T) outbound.KeyWrapper { return local(t, keys[1]) })
}

func TestCipher(t *testing.T) {
	portstest.Cipher(t, func(t *testing.T) portstest.MakingCipher { return secrets.New(local(t, keys[0])) },
		func(t *testing.T) portstest.MakingCipher { return secrets.New(local(t, keys[1])) },
		func(*testing.T) portstest.MakingCipher { return secrets.New(nil) })
}

package redis

import (
	"crypto/tls"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAnAddressSaysWhereTheServerIsAndWhoAsks(t *testing.T) {
	size := 10 * runtime.GOMAXPROCS(0)
	for address, want := range map[string]endpoint{
		"redis://":                      {network: "tcp", address: "localhost:6379", poolSize: size},
		"redis://host":                  {network: "tcp", address: "host:6379", poolSize: size},
		"redis://host:1/":               {network: "tcp", address: "host:1", poolSize: size},
		"redis://[::1]/3":               {network: "tcp", address: "[::1]:6379", database: 3, poolSize: size},
		"redis://host/3?db=4":           {network: "tcp", address: "host:6379", database: 4, poolSize: size},
		"redis://host?pool_size=7":      {network: "tcp", address: "host:6379", poolSize: 7},
		"redis://:p%40ss%23@host":       {network: "tcp", address: "host:6379", password: "p@ss#", poolSize: size},
		"redis://user@host":             {network: "tcp", address: "host:6379", user: "user", poolSize: size},
		"rediss://user:pass@host:1/2":   {network: "tcp", address: "host:1", user: "user", password: "pass", database: 2, poolSize: size, tls: &tls.Config{ServerName: "host", MinVersion: tls.VersionTLS12}},
		"rediss://host?skip_verify=1":   {network: "tcp", address: "host:6379", poolSize: size, tls: &tls.Config{ServerName: "host", MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}},
		"unix:///a/b.sock":              {network: "unix", address: "/a/b.sock", poolSize: size},
		"unix://user:pass@/a%20b?db=16": {network: "unix", address: "/a b", user: "user", password: "pass", database: 16, poolSize: size},
	} {
		got, err := parse(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(endpoint{}), cmpopts.IgnoreUnexported(tls.Config{})); diff != "" {
			t.Errorf("%s: %s", address, diff)
		}
	}
}

func TestAnInvalidAddressIsRefused(t *testing.T) {
	for _, address := range []string{
		"redis:host", "host:6379", "redis://host:0", "redis://host:65536", "redis://host/-1", "redis://host/+1", "redis://host/1/2",
		"redis://host?db=", "redis://host?db=x", "redis://host?pool_size=0", "redis://host?pool_size=10001",
		"redis://host?max_retries=5", "redis://host?read_timeout=1m", "redis://host?skip_verify=true",
		"rediss://host?skip_verify=perhaps", "redis://host?a;b", "redis://pa#ss@host", "unix://", "unix://host/a.sock", "valkey://host",
	} {
		if err := CheckAddress(address); err != errAddress { //nolint:errorlint // it is that very one
			t.Errorf("%s: %v", address, err)
		}
	}
}

func FuzzCheckAddress(f *testing.F) {
	for _, seed := range []string{
		"", "redis://", "rediss://user:pass@host:6380/2?pool_size=3&skip_verify=true", "unix://:pass@/a.sock?db=1",
		"redis://%zz", "redis://[::1]:6379", "redis://host?db=1&db=2", "redis://pa#ss@host",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		e, err := parse(address)
		if checked := CheckAddress(address); checked != err { //nolint:errorlint // they are the same one
			t.Fatalf("checked %v, parsed %v", checked, err)
		}
		if err != nil {
			if err != errAddress { //nolint:errorlint // any other could show the address
				t.Fatal(err)
			}
			return
		}
		if e.address == "" || e.poolSize < 1 || e.poolSize > maxPoolSize && e.poolSize != 10*runtime.GOMAXPROCS(0) || e.database < 0 {
			t.Fatalf("%+v", e)
		}
		if (e.tls != nil) != strings.HasPrefix(strings.ToLower(address), "rediss:") {
			t.Fatalf("TLS: %+v", e.tls)
		}
	})
}

package redis

import (
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// errAddress says what is right and not what was given: that holds a password, and
// where it is not a URL nobody knows which part of it.
var errAddress = errors.New("the address of Redis must be a URL: redis://user:password@host:6379/0, " +
	"rediss:// for TLS, or unix:///path/of/the/socket?db=0 (special characters in the password as %XX)")

// connectTimeout bounds making a connection, which goes on after the request that
// wanted it has given up: a TLS handshake may take longer than a request may wait.
// How long a request waits is its context's business: the client's own timeouts are
// measured with a clock that is up to 50 ms late.
const connectTimeout = 5 * time.Second

// CheckAddress says whether an address is one that [New] takes. The error does not
// show it.
func CheckAddress(address string) error {
	if _, err := goredis.ParseURL(address); err != nil {
		return errAddress
	}
	return nil
}

// connect makes a client that talks to nobody yet.
func connect(address string) (*goredis.Client, error) {
	opts, err := goredis.ParseURL(address)
	if err != nil {
		return nil, errAddress
	}
	// A request that was counted must not be counted again.
	opts.MaxRetries = -1
	opts.DialTimeout, opts.DialerRetries = connectTimeout, 1
	opts.ReadTimeout, opts.WriteTimeout, opts.PoolTimeout = connectTimeout, connectTimeout, connectTimeout
	opts.ContextTimeoutEnabled = true
	// Nothing of the newer protocol is used, and servers and proxies without it need no
	// special care.
	opts.Protocol, opts.DisableIdentity = 2, true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opts.PipelinePoolSize = -1
	return goredis.NewClient(opts), nil
}

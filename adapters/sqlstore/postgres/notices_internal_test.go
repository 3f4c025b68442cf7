package postgres

import (
	"testing"
	"time"
)

// The tests with a real channel wait for longer, since machines may be slow; that a
// revoked key is good for no second more is a matter of these alone.
func TestASilentChannelIsNoticedWithinASecond(t *testing.T) {
	if longest := pingEvery + pingTimeout; longest >= time.Second {
		t.Errorf("a channel may be silent for %s before it is noticed", longest)
	}
}

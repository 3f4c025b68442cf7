package egress

import (
	"golang.org/x/net/idna"

	"github.com/sluicehq/sluice/ports/outbound"
)

// Names writes names of hosts as net/http does before it looks them up.
type Names struct{}

var _ outbound.HostNames = Names{}

// ASCII writes an internationalized name.
func (Names) ASCII(name string) (string, error) { return idna.Lookup.ToASCII(name) }

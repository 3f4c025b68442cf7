package trigger

import (
	"sync"
	"time"
)

// zones keeps the zones that were found, because finding one parses its data. Only
// names that exist get in, so it stays small.
var zones sync.Map

// zoneNamed finds a zone by its IANA name. "Local" and the empty name, which mean
// whatever the machine is set to, are none.
func zoneNamed(name string) (*time.Location, bool) {
	if name == "" || name == "Local" {
		return nil, false
	}
	if found, ok := zones.Load(name); ok {
		zone, _ := found.(*time.Location)
		return zone, true
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, false
	}
	zones.Store(name, zone)
	return zone, true
}

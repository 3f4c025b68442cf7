package trigger

import (
	"sync"
	"time"
)

// zones keeps the zones that were found, because finding one parses its data. Only
// names that exist get in, so it stays small.
var zones sync.Map

// zoneNamed finds a zone by its IANA name. "Local", which means whatever the machine
// is set to, is none, and neither is the empty name. Every IANA name begins with a
// capital; other files, such as right/UTC (with leap seconds) and localtime, do not, and
// differ from machine to machine.
func zoneNamed(name string) (*time.Location, bool) {
	if name == "" || name == "Local" || name[0] < 'A' || name[0] > 'Z' {
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

//go:build relay

package main

import (
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/ports/outbound"
)

// In a build with the tag relay an engine within the process stands for a Temporal server.
const hasTemporal = true

type relayEngine struct{ *fixture.Relay }

func (relayEngine) Failed() int64 { return 0 }

func (relayEngine) Close() {}

// KeepWith changes nothing: what the relay keeps does not leave the process.
func (relayEngine) KeepWith(outbound.Cipher, outbound.Keysets) {}

func (config) checkTemporal() error { return nil }

func (config) newTemporal() (engine, error) { return relayEngine{new(fixture.Relay)}, nil }

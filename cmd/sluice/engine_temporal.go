//go:build temporal

package main

import "github.com/sluicehq/sluice/adapters/temporal"

const hasTemporal = true

func (c config) temporalOptions() temporal.Options {
	return temporal.Options{
		Address: c.TemporalAddress, Namespace: c.TemporalSpace, TaskQueue: c.TemporalQueue,
		Cert: c.TemporalCert, Key: c.TemporalKey, CA: c.TemporalCA, APIKey: c.TemporalAPIKey,
	}
}

func (c config) checkTemporal() error { return c.temporalOptions().Check() }

func (c config) newTemporal() (engine, error) { return temporal.New(c.temporalOptions()) }

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// start measures how long a gateway takes from the start of its process to the first
// ready answer: on a database that is up to date, as after a deployment, and on an
// empty one, where every migration is applied.
type start struct{}

func (start) name() string { return "start" }

func (start) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	var empty, migrated []float64
	for i := range o.rounds {
		address, err := e.database.CreateDatabase(ctx, fmt.Sprintf("start_%d", i+1))
		if err != nil {
			return nil, err
		}
		for _, into := range []*[]float64{&empty, &migrated} {
			took, err := e.startOnce(ctx, address)
			if err != nil {
				return nil, err
			}
			*into = append(*into, milliseconds(took))
		}
	}
	return []figure{
		newFigure("start", "start until ready", "ms", 300, migrated...),
		newFigure("start-empty", "start until ready on an empty database, with every migration", "ms", 0, empty...),
	}, nil
}

// startOnce starts a gateway, waits until it is ready and stops it.
func (e *env) startOnce(ctx context.Context, databaseURL string) (time.Duration, error) {
	g, err := harness.NewGateway("start", e.gateway.Binary, databaseURL, e.dir)
	if err != nil {
		return 0, err
	}
	defer g.Stop()
	ctx, cancel := context.WithTimeout(ctx, harness.ReadyTimeout)
	defer cancel()
	began := time.Now()
	if err := g.Start(); err != nil {
		return 0, err
	}
	err = g.AwaitReady(ctx, time.Millisecond)
	return time.Since(began), err
}

// binarySize is the size of the gateway as it is released.
type binarySize struct{}

func (binarySize) name() string { return "binary" }

func (binarySize) measure(_ context.Context, e *env, _ options) ([]figure, error) {
	info, err := os.Stat(e.gateway.Binary)
	if err != nil {
		return nil, err
	}
	return []figure{newFigure("binary", "size of the binary", "MB", 50, megabytes(info.Size()))}, nil
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// start measures how long a gateway takes from the start of its process to the first
// ready answer: on a database that is up to date, as after a deployment, and on an
// empty one, where every migration is applied.
type start struct{}

func (start) name() string { return "start" }

func (start) take(ctx context.Context, st *stage, o options) ([]figure, error) {
	var empty, migrated []float64
	for i := range o.rounds {
		address, err := st.database.create(ctx, fmt.Sprintf("start_%d", i+1))
		if err != nil {
			return nil, err
		}
		for _, into := range []*[]float64{&empty, &migrated} {
			took, err := st.startOnce(ctx, address)
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
func (st *stage) startOnce(ctx context.Context, databaseURL string) (took time.Duration, err error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return 0, err
	}
	g := newGatewayProcess(st.gateway.binary, databaseURL, filepath.Join(st.dir, "start.log"), "SLUICE_LISTEN="+address)
	began := time.Now()
	if err := g.start(); err != nil {
		return 0, err
	}
	defer g.stop()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if _, err = ask(ctx, "http://"+address, question{Method: http.MethodGet, Path: "/readyz", APIKeys: []string{""}}, http.StatusOK); err == nil {
			return time.Since(began), nil
		}
		if errors.Is(pause(ctx, time.Millisecond), context.DeadlineExceeded) {
			return 0, fmt.Errorf("the gateway was not ready within %s: %w", startTimeout, err)
		}
	}
}

// freeAddress returns an address that nobody listened on a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// binarySize is the size of the gateway as it is released.
type binarySize struct{}

func (binarySize) name() string { return "binary" }

func (binarySize) take(_ context.Context, st *stage, _ options) ([]figure, error) {
	info, err := os.Stat(st.gateway.binary)
	if err != nil {
		return nil, err
	}
	return []figure{newFigure("binary", "size of the binary", "MB", 40, megabytes(info.Size()))}, nil
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

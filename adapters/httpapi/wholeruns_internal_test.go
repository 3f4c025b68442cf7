package httpapi

import (
	"context"
	"errors"
	"testing"
)

func TestAFewWholeRunsAreReadAtATime(t *testing.T) {
	a := &API{wholeRuns: make(chan struct{}, wholeRuns)}
	begun, let, ended := make(chan struct{}), make(chan struct{}), make(chan error, wholeRuns+1)
	read := func(ctx context.Context) {
		_, err := a.wholeRun(ctx, func(context.Context) ([]byte, error) {
			begun <- struct{}{}
			<-let
			return nil, nil
		})
		ended <- err
	}
	for range wholeRuns {
		go read(t.Context())
		<-begun
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	read(gone) // which would wait for ever if it began
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("one that is not waited for any more: %v", err)
	}
	go read(t.Context())
	let <- struct{}{}
	<-begun // it takes the place that was given up
	close(let)
	for range wholeRuns + 1 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

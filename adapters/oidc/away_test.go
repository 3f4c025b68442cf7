package oidc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/oidc"
	"github.com/sluicehq/sluice/domain"
)

// The provider answers only once everybody but the first has stopped waiting.
func TestAProviderThatDoesNotAnswerIsAskedOnceAtATime(t *testing.T) {
	var requests atomic.Int64
	arrived, answer := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			close(arrived)
		}
		<-answer
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	p := oidc.New(oidc.Settings{Issuer: server.URL, ClientID: clientID, RedirectURL: func() string { return callback }})
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := p.AuthorizationURL(t.Context(), asked); !says(err, domain.Unavailable, "identity_provider_unavailable") {
			t.Errorf("the first is told %v", err)
		}
	})
	<-arrived
	var others sync.WaitGroup
	for range 5 {
		others.Go(func() {
			impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := p.AuthorizationURL(impatient, asked); err == nil {
				t.Error("somebody is sent to a provider that does not answer")
			}
		})
	}
	others.Wait()
	close(answer)
	first.Wait()
	if n := requests.Load(); n != 1 {
		t.Errorf("it was asked %d times at once", n)
	}
}

// Whoever asks first may leave, and what was asked is answered for those who come later.
func TestOneWhoLeavesStopsNoOthers(t *testing.T) {
	f := forge(t)
	arrived, answer := make(chan struct{}), make(chan struct{})
	inner := f.Config.Handler
	var requests atomic.Int64
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			close(arrived)
		}
		<-answer
		inner.ServeHTTP(w, r)
	})
	p := f.provider()
	leaving, leave := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := p.AuthorizationURL(leaving, asked); err == nil {
			t.Error("one who left is sent on")
		}
	})
	<-arrived
	leave()
	first.Wait()
	close(answer)
	if _, err := p.AuthorizationURL(t.Context(), asked); err != nil || requests.Load() != 1 {
		t.Errorf("the other is told %v after %d requests", err, requests.Load())
	}
}

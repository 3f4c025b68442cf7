package main

import (
	"encoding/json"
	"io"
	"net/http"
	"path"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// listener receives the events of all tenants, each at a path of its own. It refuses
// some the first time.
type listener struct {
	random *dice
	found  *findings

	mu       sync.Mutex
	secrets  map[string]string // of each path
	refused  map[string]bool   // messages
	heard    map[string]heard  // by event
	messages int
}

// heard is an event that arrived.
type heard struct {
	kind, run string
	path      string // at which
	times     int
}

func newListener(random *dice, found *findings) *listener {
	return &listener{
		random: random, found: found, secrets: make(map[string]string), refused: make(map[string]bool), heard: make(map[string]heard),
	}
}

// endpoint says how what comes to a path is signed.
func (l *listener) endpoint(name, secret string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets[name] = secret
}

// refusals is how many messages of a hundred are refused the first time.
const refusals = 5

// ServeHTTP takes an event whose signature fits.
func (l *listener) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender is gone
	}
	name := path.Base(req.URL.Path)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages++
	checker, err := standardwebhooks.NewWebhook(l.secrets[name])
	if err == nil {
		err = checker.Verify(text, req.Header)
	}
	var event struct {
		ID, Type string
		Data     struct{ RunID string }
	}
	if err == nil {
		err = json.Unmarshal(text, &event)
	}
	if err != nil {
		l.found.add(eventsTold, "a message to %s: %v: %s", name, err, text)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := req.Header.Get(standardwebhooks.HeaderWebhookID)
	if !l.refused[id] && l.random.one(refusals) {
		l.refused[id] = true
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h := l.heard[event.ID]
	if h.times > 0 && (h.kind != event.Type || h.run != event.Data.RunID || h.path != name) {
		l.found.add(eventsTold, "the event %s came as %+v and as %s of %s at %s", event.ID, h, event.Type, event.Data.RunID, name)
	}
	l.heard[event.ID] = heard{event.Type, event.Data.RunID, name, h.times + 1}
}

// books returns what arrived.
func (l *listener) books() map[string]heard {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]heard, len(l.heard))
	for id, h := range l.heard {
		all[id] = h
	}
	return all
}

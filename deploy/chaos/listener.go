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
	random *randomSource
	found  *findings

	mu        sync.Mutex
	secrets   map[string]string         // of each path
	refused   map[string]bool           // messages
	delivered map[string]deliveredEvent // by event
	messages  int
}

// deliveredEvent is an event that arrived.
type deliveredEvent struct {
	kind, run string
	path      string // at which
	times     int
}

func newListener(random *randomSource, found *findings) *listener {
	return &listener{
		random: random, found: found, secrets: make(map[string]string), refused: make(map[string]bool), delivered: make(map[string]deliveredEvent),
	}
}

// endpoint says how what comes to a path is signed.
func (l *listener) endpoint(name, secret string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets[name] = secret
}

// refusalPercent is how many messages of a hundred are refused the first time.
const refusalPercent = 5

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
		l.found.add(eventsDelivered, "a message to %s: %v: %s", name, err, text)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := req.Header.Get(standardwebhooks.HeaderWebhookID)
	if !l.refused[id] && l.random.chance(refusalPercent) {
		l.refused[id] = true
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h := l.delivered[event.ID]
	if h.times > 0 && (h.kind != event.Type || h.run != event.Data.RunID || h.path != name) {
		l.found.add(eventsDelivered, "the event %s came as %+v and as %s of %s at %s", event.ID, h, event.Type, event.Data.RunID, name)
	}
	l.delivered[event.ID] = deliveredEvent{event.Type, event.Data.RunID, name, h.times + 1}
}

// deliveredEvents returns what arrived.
func (l *listener) deliveredEvents() map[string]deliveredEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]deliveredEvent, len(l.delivered))
	for id, h := range l.delivered {
		all[id] = h
	}
	return all
}

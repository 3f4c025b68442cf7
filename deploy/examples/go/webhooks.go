package main

import (
	"encoding/json"
	"log"
	"net/http"
)

// receiver receives the gateway's events.
type receiver struct {
	verify *verifier
	seen   *once
}

// notice is what every webhook holds.
type notice struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		RunID string `json:"runId"`
	} `json:"data"`
}

// ServeHTTP answers 2xx once it has taken the event in; the gateway delivers it again
// until then, and at times after that too.
func (h *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := h.verify.read(r)
	if err != nil {
		log.Printf("refused a webhook: %v", err)
		http.Error(w, "untrusted", http.StatusUnauthorized)
		return
	}
	var n notice
	if err := json.Unmarshal(body, &n); err != nil {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	id := r.Header.Get("webhook-id") // the same in every delivery of the message
	_, again := h.seen.do(id, func() any {
		log.Printf("webhook %s %s %s", n.Type, n.ID, n.Data.RunID)
		return nil
	})
	if again {
		log.Printf("webhook again %s", id)
	}
	w.WriteHeader(http.StatusNoContent)
}

package main

import (
	"encoding/json"
	"log"
	"math"
	"net/http"
)

// leads runs the custom node score_lead.
type leads struct {
	verify *verifier
	done   *once
}

// call is what the gateway sends: of the type run with a payload, or heartbeat.
type call struct {
	Type    string `json:"type"`
	Payload struct {
		NodeType string `json:"nodeType"`
		RunID    string `json:"runId"`
		EntityID string `json:"entityId"`
		Inputs   struct {
			Company   string  `json:"company"`
			Employees float64 `json:"employees"`
		} `json:"inputs"`
		Config struct {
			ReviewFrom float64 `json:"reviewFrom"`
			ReviewTo   float64 `json:"reviewTo"`
		} `json:"config"`
	} `json:"payload"`
}

// object is a JSON object to answer with.
type object map[string]any

// ServeHTTP answers a call of the gateway.
func (l *leads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := l.verify.readCall(r)
	if err != nil {
		log.Printf("refused a call: %v", err)
		http.Error(w, "untrusted", http.StatusUnauthorized)
		return
	}
	var c call
	if err := json.Unmarshal(body, &c); err != nil {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	switch {
	case c.Type == "heartbeat":
		log.Print("heartbeat")
		answer(w, object{"success": true})
	case c.Type == "run" && c.Payload.NodeType == "score_lead":
		// Every attempt at this node in this run bears the same key. Whoever honours it has
		// the effect once, however often the gateway has to ask.
		scored, again := l.done.do(r.Header.Get("Idempotency-Key"), func() any { return score(c) })
		if again {
			log.Printf("asked again for %s", c.Payload.RunID)
		}
		answer(w, scored)
	default:
		answer(w, failure("node_type_unknown", "There is nothing here that runs "+c.Payload.NodeType+"."))
	}
}

// score has the effect.
func score(c call) any {
	in, config := c.Payload.Inputs, c.Payload.Config
	if in.Company == "" {
		return failure("company_missing", "A lead needs a company.")
	}
	points := math.Min(100, math.Round(25*math.Log10(in.Employees+1)))
	if points >= config.ReviewFrom && points < config.ReviewTo {
		log.Printf("paused %s: %s has %v points, which a person has to look at", c.Payload.RunID, in.Company, points)
		return object{"paused": true, "event": "lead.reviewed", "timeoutMs": 24 * 60 * 60 * 1000}
	}
	grade := "cold"
	if points >= config.ReviewTo {
		grade = "hot"
	}
	log.Printf("scored %s: %s has %v points", c.Payload.RunID, in.Company, points)
	return object{"success": true, "data": object{"score": points, "grade": grade}}
}

func failure(code, message string) any {
	return object{"success": false, "error": object{"code": code, "message": message, "retryable": false}}
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Printf("cannot answer: %v", err)
	}
}

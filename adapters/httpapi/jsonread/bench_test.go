package jsonread_test

import (
	"encoding/json"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
)

// draft is what encoding/json needs to bind the same body.
type draft struct {
	WorkflowVersionID string          `json:"workflowVersionId"`
	Name              string          `json:"name"`
	Type              string          `json:"type"`
	Config            json.RawMessage `json:"config"`
}

func BenchmarkParse(b *testing.B) {
	body := []byte(typicalBody)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonread.Parse(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseAndRead(b *testing.B) {
	body := []byte(typicalBody)
	b.ReportAllocs()
	for b.Loop() {
		o, err := jsonread.Parse(body)
		if err != nil {
			b.Fatal(err)
		}
		var r domain.Rules
		o.String("workflowVersionId", &r)
		o.String("name", &r)
		o.String("type", &r)
		o.OptionalDocument("config", &r)
		config, _ := o.OptionalObject("config", &r)
		limit, _ := config.OptionalObject("rateLimit", &r)
		limit.OptionalInt("maxRequests", &r)
		limit.OptionalInt("windowMs", &r)
	}
}

func BenchmarkCanonical(b *testing.B) {
	o, err := jsonread.Parse([]byte(typicalBody))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		o.Canonical()
	}
}

// BenchmarkEncodingJSON is the lenient baseline.
func BenchmarkEncodingJSON(b *testing.B) {
	body := []byte(typicalBody)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var d draft
		if err := json.Unmarshal(body, &d); err != nil {
			b.Fatal(err)
		}
	}
}

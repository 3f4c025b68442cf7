// Package openapi holds the description of the gateway's API, openapi.yaml. It is
// written by hand and is the contract: tests hold every answer against it.
package openapi

import (
	_ "embed" // for the document
	"sync"

	"github.com/oasdiff/yaml"
)

//go:embed openapi.yaml
var document []byte

// YAML returns the document as it was written. The bytes must not be changed.
func YAML() []byte { return document }

// JSON returns the document in JSON, members sorted by name. The bytes are made once, at the
// first call, and must not be changed.
func JSON() []byte { return converted() }

var converted = sync.OnceValue(func() []byte {
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		panic("openapi.yaml, which is embedded and tested, is not YAML: " + err.Error())
	}
	return text
})

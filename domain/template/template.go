package template

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// ID identifies a template, in lower case with hyphens.
type ID string

// Template is one or several workflows that belong together.
type Template struct {
	ID          ID
	Name        string // for people, in their language
	Description string
	Connections []Connection
	Addresses   []Address
	Sample      domain.Document   // what a run of the first workflow begins with, to try it
	Workflows   []domain.Document // their files, the main one first
	types       []node.Type
}

// Connection is one that the files name, and that has to be made or chosen.
type Connection struct {
	Name        string
	Kind        connection.Kind // what it usually is
	Description string
}

// Address is one that the files have in place of somebody's own.
type Address struct {
	URL         string
	Description string
}

//go:embed templates.json files catalogue
var content embed.FS

// texts are what people read, in one language.
type texts struct {
	Templates map[ID]struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"templates"`
	Connections map[string]string `json:"connections"`
	Addresses   map[string]string `json:"addresses"`
}

// read panics where a file is not valid, since it is part of the program.
func read(name string, into any) []byte {
	text, err := content.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		panic(fmt.Sprintf("template: %s: %v", name, err))
	}
	return text
}

var all = map[tenant.Language]func() []Template{}

func init() {
	for _, l := range tenant.Languages() {
		all[l] = sync.OnceValue(func() []Template { return load(l) })
	}
}

// All are the templates in a language, or in the default one where there is none such, that the registry has every node type of.
func All(l tenant.Language, registry *node.Registry) []Template {
	if !l.Valid() {
		l = tenant.Languages()[0]
	}
	return slices.DeleteFunc(slices.Clone(all[l]()), func(t Template) bool {
		return slices.ContainsFunc(t.types, func(of node.Type) bool { return !registry.Knows(of) })
	})
}

// What the files name, and what stands in them in place of somebody's own.
var (
	connections = regexp.MustCompile(`\{"\$connection": "([^"]+)"\}`)
	addresses   = regexp.MustCompile(`https://[a-z]+\.example\.com`)
)

func load(l tenant.Language) []Template {
	var index struct {
		Templates []struct {
			ID        ID              `json:"id"`
			Workflows []string        `json:"workflows"`
			Sample    json.RawMessage `json:"sample"`
		} `json:"templates"`
		Connections map[string]connection.Kind `json:"connections"`
	}
	read("templates.json", &index)
	var words texts
	read("catalogue/"+string(l)+".json", &words)
	loaded := make([]Template, 0, len(index.Templates))
	for _, one := range index.Templates {
		t := Template{ID: one.ID, Name: words.Templates[one.ID].Name, Description: words.Templates[one.ID].Description, Sample: domain.RestoreDocument(string(one.Sample))}
		var files string
		for _, name := range one.Workflows {
			var graph struct {
				Nodes []struct {
					Type node.Type `json:"type"`
				} `json:"nodes"`
			}
			text := string(read("files/"+name+".json", &graph))
			files += text
			t.Workflows = append(t.Workflows, domain.RestoreDocument(text))
			for _, n := range graph.Nodes {
				t.types = append(t.types, n.Type)
			}
		}
		for _, name := range found(connections.FindAllStringSubmatch(files, -1)) {
			t.Connections = append(t.Connections, Connection{name, index.Connections[name], words.Connections[name]})
		}
		for _, url := range found(addresses.FindAllStringSubmatch(files, -1)) {
			t.Addresses = append(t.Addresses, Address{url, words.Addresses[url]})
		}
		loaded = append(loaded, t)
	}
	return loaded
}

// found are the last groups of matches, each once.
func found(matches [][]string) (each []string) {
	for _, m := range matches {
		if one := m[len(m)-1]; !slices.Contains(each, one) {
			each = append(each, one)
		}
	}
	return each
}

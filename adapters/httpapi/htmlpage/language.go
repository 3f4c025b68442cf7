package htmlpage

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Language is the one that a browser prefers, by its header Accept-Language, of those that there are; English for none.
func Language(accept string) tenant.Language {
	type wish struct {
		language string
		weight   float64
	}
	var wishes []wish
	for _, part := range strings.Split(accept[:min(len(accept), 1000)], ",") {
		language, parameters, _ := strings.Cut(part, ";")
		weight := 1.0
		if text, has := strings.CutPrefix(strings.TrimSpace(parameters), "q="); has {
			weight, _ = strconv.ParseFloat(text, 64)
		}
		if weight > 0 {
			wishes = append(wishes, wish{strings.ToLower(strings.TrimSpace(language)), weight})
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	for _, w := range wishes {
		base, _, _ := strings.Cut(w.language, "-")
		for _, l := range tenant.Languages() {
			known, _, _ := strings.Cut(strings.ToLower(string(l)), "-")
			if base == known {
				return l
			}
		}
	}
	return tenant.English
}

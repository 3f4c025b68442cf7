package domain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
)

func many(n int) map[string]string {
	pairs := make(map[string]string)
	for i := range n {
		pairs[fmt.Sprint("k", i)] = "v"
	}
	return pairs
}

func TestMetadataIsRevised(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		before map[string]string
		patch  domain.MetadataPatch
		want   string
		broken []string
	}{
		"none":                             {nil, domain.MetadataPatch{}, `{}`, nil},
		"sorted and unescaped":             {nil, domain.MetadataPatch{Pairs: map[string]string{"b": "<&>", "a": `"é"`}}, `{"a":"\"é\"","b":"<&>"}`, nil},
		"pairs are merged":                 {map[string]string{"a": "1", "b": "2"}, domain.MetadataPatch{Pairs: map[string]string{"b": "3", "c": "4"}}, `{"a":"1","b":"3","c":"4"}`, nil},
		"an empty value takes away":        {map[string]string{"a": "1", "b": "2"}, domain.MetadataPatch{Pairs: map[string]string{"a": "", "z": ""}}, `{"b":"2"}`, nil},
		"the last one goes":                {map[string]string{"a": "1"}, domain.MetadataPatch{Pairs: map[string]string{"a": ""}}, `{}`, nil},
		"all are taken away":               {map[string]string{"a": "1"}, domain.MetadataPatch{Clear: true}, `{}`, nil},
		"the longest":                      {nil, domain.MetadataPatch{Pairs: map[string]string{strings.Repeat("é", 40): strings.Repeat("é", 500)}}, `{"` + strings.Repeat("é", 40) + `":"` + strings.Repeat("é", 500) + `"}`, nil},
		"too long":                         {nil, domain.MetadataPatch{Pairs: map[string]string{strings.Repeat("k", 41): "v", "v": strings.Repeat("v", 501)}}, "", []string{"metadata." + strings.Repeat("k", 40) + "… too_long", "metadata.v too_long"}},
		"no key":                           {nil, domain.MetadataPatch{Pairs: map[string]string{"": "v"}}, "", []string{"metadata. required"}},
		"what cannot be stored":            {nil, domain.MetadataPatch{Pairs: map[string]string{"v": "a\x00"}}, "", []string{"metadata.v bad_character"}},
		"one too many":                     {many(50), domain.MetadataPatch{Pairs: map[string]string{"z": "v"}}, "", []string{"metadata too_long"}},
		"one for another":                  {many(1), domain.MetadataPatch{Pairs: map[string]string{"k0": "", "z": "v"}}, `{"z":"v"}`, nil},
		"everything broken is found":       {nil, domain.MetadataPatch{Pairs: map[string]string{"a": "\x00", "b": "\x00"}}, "", []string{"metadata.a bad_character", "metadata.b bad_character"}},
		"all taken away, and others added": {many(50), domain.MetadataPatch{Clear: true, Pairs: map[string]string{"z": "v"}}, `{"z":"v"}`, nil},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			var r domain.Rules
			before := domain.Metadata{}.Revised(&r, domain.MetadataPatch{Pairs: c.before})
			got := before.Revised(&r, c.patch)
			var broken []string
			for _, v := range r.Violations() {
				broken = append(broken, v.Field+" "+string(v.Code))
			}
			if diff := cmp.Diff(c.broken, broken); diff != "" {
				t.Error(diff)
			}
			if c.broken == nil && (got.String() != c.want || !got.Equal(domain.RestoreMetadata(c.want))) {
				t.Errorf("got %s, not %s", got, c.want)
			}
		})
	}
}

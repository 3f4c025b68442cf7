package jsonread_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
)

type answer struct {
	head
	Items []*item         `json:"items,omitempty"`
	By    map[string]item `json:"by"`

	Limits map[string]item `json:"limits"`
	Older  []*item         `json:"older"`
	Kept   json.RawMessage `json:"kept"`
	Any    any             `json:"any"`
}

type head struct {
	ID string `json:"id"`
}

type item struct {
	Own bool `json:"own"`
}

func TestWhatNobodyAsksForIsIgnored(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		body string
		want []string
	}{
		"nothing":                              {``, nil},
		"all of it is asked for":               {`{"name":"a","document":{"x":{"y":[{"z":1}]}},"items":[{"id":1}],"by":{"a":{"name":1}}}`, nil},
		"at the top":                           {`{"retryPolicy":{"a":1},"NAME":1,"name":"a"}`, []string{"retryPolicy", "NAME"}},
		"in an element":                        {`{"items":[{"id":1},{"id":2,"filter":{}}]}`, []string{"items[1].filter"}},
		"in a member whose name is the sender": {`{"by":{"any":{"name":1,"other":2}}}`, []string{"by.any.other"}},
		"what the answer has":                  {`{"id":1,"items":[{"own":true}],"by":{"any":{"own":true}}}`, nil},
		"what it has in another place":         {`{"own":true,"items":[{"by":1}]}`, []string{"own", "items[0].by"}},
		"inside what only the answer has":      {`{"limits":{"secret":{"own":true,"hourly":5}},"older":[{"own":true},{"new":{"a":1}}],"id":{"a":1}}`, []string{"limits.secret.hourly", "older[1].new", "id.a"}},
		"inside documents that it has":         {`{"kept":{"a":[{"b":1}]},"any":{"a":1}}`, nil},
		"with an escape":                       {`{"n\u0061me":"a","\u0069d":1,"\u0078":2}`, []string{"x"}},
		"an object in the place of a list":     {`{"items":{"a":1}}`, nil},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			o, err := jsonread.Parse([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			read(o)
			if diff := cmp.Diff(c.want, o.Ignored(jsonread.ShapeOf[answer]())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func read(o jsonread.Object) {
	var r domain.Rules
	o.String("name", &r)
	o.OptionalDocument("document", &r)
	items, _ := o.OptionalArray("items", &r)
	for _, item := range items.Objects(&r) {
		item.Int("id", &r)
	}
	by, _ := o.OptionalObject("by", &r)
	for _, value := range by.All() {
		if one, ok := value.Object(&r); ok {
			one.Has("name")
		}
	}
}

func TestManyIgnoredMembersAreBounded(t *testing.T) {
	t.Parallel()
	var members []string
	for i := range 2 * domain.MaxViolations {
		members = append(members, fmt.Sprintf(`"m%d":1`, i))
	}
	o, err := jsonread.Parse([]byte("{" + strings.Join(members, ",") + "}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Ignored(nil); len(got) != domain.MaxViolations || got[0] != "m0" {
		t.Errorf("%d are reported, first %q", len(got), got[:1])
	}
}

func TestParametersThatNobodyAsksForAreIgnored(t *testing.T) {
	t.Parallel()
	q, err := jsonread.ParseQuery("color=red&limit=1&sortBy=name&search=a&isActive=true&status=a&a%2Cb=1&pageSize=1")
	if err != nil {
		t.Fatal(err)
	}
	var r domain.Rules
	q.List(&r)
	q.String("status", &r)
	if diff := cmp.Diff([]string{"a,b", "color"}, q.Ignored()); diff != "" {
		t.Error(diff)
	}
}

package domain_test

import (
	"encoding/json"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
)

func TestWhatATextHoldsIsCounted(t *testing.T) {
	for text, want := range map[string]domain.JSONWeight{
		``:                              {Bytes: 0, Values: 1},
		`7`:                             {Bytes: 1, Values: 1},
		`{}`:                            {Bytes: 2, Values: 1},
		` [ ] `:                         {Bytes: 5, Values: 1},
		`[1,[],{}]`:                     {Bytes: 9, Values: 4},
		`{"a":1,"b":{"c":[2]}}`:         {Bytes: 21, Values: 5, Names: 3, Objects: 2},
		`{"a,:[{\"":"\\","b":"]},[{:"}`: {Bytes: 29, Values: 3, Names: 2, Objects: 1},
		`"cut off \`:                    {Bytes: 10, Values: 1},
	} {
		if diff := cmp.Diff(want, domain.WeighJSON(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		if diff := cmp.Diff(want, domain.WeighJSON([]byte(text))); diff != "" {
			t.Errorf("%s, as bytes: %s", text, diff)
		}
	}
}

func TestWeightsAdd(t *testing.T) {
	w := domain.WeighJSON(`{"a":1}`)
	w.Add(domain.WeighJSON(`[2,3]`))
	if diff := cmp.Diff(domain.JSONWeight{Bytes: 12, Values: 5, Names: 1, Objects: 1}, w); diff != "" {
		t.Error(diff)
	}
}

// What is live after a text was read is never more than its weight, whatever it holds.
func TestATreeTakesNoMoreThanItsWeight(t *testing.T) {
	many := func(piece string) string { return "[" + strings.Repeat(piece+",", 200_000/len(piece)) + "0]" }
	names := new(strings.Builder)
	for i := range 20_000 {
		names.WriteString(`"` + strconv.Itoa(i) + `":0,`)
	}
	for claim, text := range map[string]string{
		"empty arrays": many("[]"), "empty objects": many("{}"), "digits": many("0"), "texts": many(`""`), "short texts": many(`"a"`),
		"objects of one member": many(`{"":0}`), "of two": many(`{"a":0,"b":0}`), "of nine": many(`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0}`),
		"arrays of one": many("[0]"), "arrays of two": many("[0,0]"), "many names": "{" + names.String() + `"":0}`, "one text": `"` + strings.Repeat("a", 200_000) + `"`,
	} {
		var before, after runtime.MemStats
		var tree any
		runtime.GC()
		runtime.ReadMemStats(&before)
		func() { // so that the decoder is gone afterwards
			dec := json.NewDecoder(strings.NewReader(text))
			dec.UseNumber()
			if err := dec.Decode(&tree); err != nil {
				t.Fatal(err)
			}
		}()
		runtime.GC()
		runtime.ReadMemStats(&after)
		took, weight := int64(after.HeapAlloc)-int64(before.HeapAlloc), domain.WeighJSON(text).Tree()
		if took > weight+16<<10 {
			t.Errorf("%s: %d bytes, which take %d, weigh %d", claim, len(text), took, weight)
		}
		runtime.KeepAlive(tree)
	}
}

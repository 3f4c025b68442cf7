package attack

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHostileAnswersAreSmallOnTheWireAndJustWithinWhatIsRead(t *testing.T) {
	server := httptest.NewServer(NewServer())
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	for name := range shapes(100) {
		for _, path := range []string{"/answer/", "/node/"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path+name, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := gzip.NewReader(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(plain)
			_ = answer.Body.Close() // read to its end
			if err != nil || answer.ContentLength > 8<<10 || len(text) > longestAnswer || len(text) < longestAnswer*9/10 || !json.Valid(text) {
				t.Errorf("%s%s: %d bytes on the wire, %d of JSON (valid: %t), %v", path, name, answer.ContentLength, len(text), json.Valid(text), err)
			}
		}
	}
}

func TestAttacksAreChosenByName(t *testing.T) {
	if all, err := Select(""); err != nil || len(all) != len(Names()) {
		t.Errorf("%d of %d, %v", len(all), len(Names()), err)
	}
	if some, err := Select("events,waits"); err != nil || len(some) != 2 || some[0].Name != "events" {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := Select("nothing"); err == nil {
		t.Error("an attack that does not exist is made")
	}
}

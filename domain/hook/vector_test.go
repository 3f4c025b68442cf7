package hook_test

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
)

// scheme reads one that must be valid.
func scheme(t testing.TB, text string) hook.Scheme {
	t.Helper()
	var r domain.Rules
	s := hook.ParseScheme(&r, "scheme", []byte(text))
	if found := r.Violations(); len(found) > 0 {
		t.Fatalf("%s: %v", text, found)
	}
	return s
}

func TestVectorOfGitHub(t *testing.T) {
	s := scheme(t, `{"preset": "github"}`)
	r := hook.Request{Method: "POST", Body: []byte("Hello, World!"), Headers: hook.Headers{
		"x-hub-signature-256": {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
	}}
	got := s.Verify([]hook.Secret{hook.NewText("conn_1", "It's a Secret to Everybody")}, r, time.Unix(0, 0))
	if want := (hook.Result{Verified: true, Secret: "conn_1"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

package attack

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluicehq/sluice/deploy/harness"
)

// hooks has anybody send to addresses of the tenant, for which nobody needs a key: deliveries with wrong signatures, and some that
// are large as values, and split into as many runs as there may be.
func hooks() Attack {
	const forged, split = 12, 4
	body := member("l", list("[]", 300_000))
	var addresses [2]string
	return Attack{
		Name: "hooks", About: "forged deliveries of 0.9 MB to a hook, and others that an expression goes through for long and splits into a thousand runs",
		round: func(ctx context.Context, t *Tenant) error {
			made, err := t.workflow(ctx, "hooked", func() design {
				return design{nodes: []map[string]any{harness.Transform("t", "payload.body.length")}, triggers: len(addresses)}
			})
			if err != nil {
				return err
			}
			for i, trigger := range made.triggers {
				if addresses[i] != "" {
					continue
				}
				if addresses[i], err = t.hook(ctx, trigger, i); err != nil {
					return err
				}
			}
			t.begin()
			parallel(forged+split, func(i int) { t.deliver(ctx, addresses[i/forged], body) })
			return nil
		},
	}
}

// hook gives the trigger a hook and returns its address: the first one's deliveries are signed, the second's are not.
func (t *Tenant) hook(ctx context.Context, trigger string, which int) (address string, err error) {
	body := map[string]any{"limits": map[string]any{"perMinute": 600_000, "concurrent": 1000}}
	if which == 0 {
		var key struct{ ID string }
		if err := t.post(ctx, "/connections", map[string]any{"name": unique("hook"), "kind": "hmac", "secret": map[string]any{"key": "what-the-hostile-tenant-signs-with"}}, &key); err != nil {
			return "", err
		}
		body["scheme"], body["secrets"] = map[string]any{"preset": "github"}, []string{key.ID}
	} else {
		body["scheme"], body["split"] = map[string]any{"kind": "none"}, "payload.body.l.slice(0, 90000).map(x => [x]).slice(0, 1000)"
	}
	var made struct{ URL string }
	path := "/triggers/" + trigger + "/hook"
	if err = t.post(ctx, path, body, &made); err != nil && strings.Contains(err.Error(), "hook_exists") { // an earlier try was cut off
		err = t.post(ctx, path+"/rotate", map[string]any{"graceSeconds": 0}, &made)
	}
	if err != nil {
		return "", err
	}
	parsed, err := url.Parse(made.URL)
	if err != nil {
		return "", err
	}
	return parsed.Path, nil
}

// deliver sends something to a hook as GitHub does, with a signature that is none.
func (t *Tenant) deliver(ctx context.Context, address string, body []byte) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.api.URL+address, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "push")
	req.Header.Set("X-GitHub-Delivery", unique("delivery"))
	req.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
	answer, err := t.api.HTTP.Do(req)
	t.count(ctx, answer, err)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body) // only the status matters
	_ = answer.Body.Close()
}

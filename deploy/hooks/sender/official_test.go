package sender_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/deploy/hooks/sender"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
)

// official runs the senders' own packages.
type official struct {
	*testing.T
	in  io.Writer
	out *bufio.Reader
}

// question is a line that official.mjs reads.
type question struct {
	Op        string            `json:"op"`
	Sender    string            `json:"sender"`
	Secret    string            `json:"secret"`
	PublicKey string            `json:"publicKey"`
	URL       string            `json:"url"`
	Body      string            `json:"body"`
	At        int64             `json:"at"`
	Headers   map[string]string `json:"headers,omitempty"`
}

// answer is what it writes.
type answer struct {
	Headers  map[string]string
	Verified bool
}

const folder = "../node"

func start(t *testing.T) official {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("########## SKIPPED: there is no node in PATH. Install Node 20 or later, without which nobody holds the gateway against the packages of GitHub, Stripe, Slack, Standard Webhooks, Twilio and Discord. ##########")
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules", ".package-lock.json")); err != nil {
		install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--loglevel=error", "--no-audit", "--no-fund")
		install.Dir = folder
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("npm ci in deploy/hooks/node: %v\n%s", err, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), node, "official.mjs")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return official{t, in, bufio.NewReader(out)}
}

func (o official) ask(q question) (a answer) {
	o.Helper()
	line, err := json.Marshal(q)
	if err != nil {
		o.Fatal(err)
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		o.Fatal(err)
	}
	text, err := o.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		o.Fatalf("%s: %v", text, err)
	}
	return a
}

func ask(op string, s sender.Sender, d sender.Delivery, at time.Time) question {
	q := question{Op: op, Sender: s.Name, Secret: s.Secret, PublicKey: s.PublicKey, URL: d.URL, Body: string(d.Body), At: at.UnixMilli(), Headers: map[string]string{}}
	for name := range d.Header {
		q.Headers[strings.ToLower(name)] = d.Header.Get(name)
	}
	return q
}

func verify(t *testing.T, s sender.Sender, d sender.Delivery, at time.Time) hook.Result {
	t.Helper()
	var r domain.Rules
	preset := hook.ParseScheme(&r, "scheme", []byte(`{"preset":"`+s.Preset+`"}`))
	secret := hook.NewText("its", s.Secret)
	if s.PublicKey != "" {
		var err error
		if secret, err = hook.NewPublicKey("its", s.PublicKey); err != nil {
			t.Fatal(err)
		}
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	origin := u.Scheme + "://" + u.Host
	return preset.Verify([]hook.Secret{secret}, hook.Request{
		Method: d.Method, Origin: origin, Address: strings.TrimPrefix(d.URL, origin), Query: u.RawQuery, Headers: hook.ReadHeaders(d.Header), Body: d.Body, At: at,
	}, at)
}

// What the senders' packages sign is verified; what this package signs is verified by them; and both refuse the same when it is
// altered.
func TestTheSendersOwnPackagesAgree(t *testing.T) {
	o, at := start(t), time.Now()
	for _, s := range sender.All() {
		switch s.Name {
		case "github", "stripe", "slack", "standard", "discord", "twilio form", "twilio JSON":
		default:
			continue
		}
		d := s.Deliver("https://hooks.example.com/h/token?shop=1", 3, at)
		if !o.ask(ask("verify", s, d, at)).Verified {
			t.Errorf("%s: its package refuses a delivery that is signed here", s.Name)
		}
		n := 0
		for what, altered := range s.Alterations(d) {
			if n++; n%7 != 0 { // a sample: the package answers one by one
				continue
			}
			if theirs, ours := o.ask(ask("verify", s, altered, at)).Verified, verify(t, s, altered, at).Verified; theirs || ours {
				t.Errorf("%s: with a byte of %s changed, verified by its package: %v, here: %v\n%s\n%v", s.Name, what, theirs, ours, altered.Body, altered.Header)
			}
		}
		signed := d.Clone()
		for name, value := range o.ask(ask("sign", s, d, at)).Headers {
			signed.Header.Set(name, value)
		}
		if got := verify(t, s, signed, at); !got.Verified {
			t.Errorf("%s: what its package signs gives %+v:\n%v", s.Name, got, signed.Header)
		}
	}
}

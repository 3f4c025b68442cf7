package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/harness"
	"github.com/sluicehq/sluice/deploy/hooks/sender"
)

// origin is what senders are told. A proxy leads from there to the gateway, which does not see it.
const origin = "https://hooks.example.com"

// numberHeader says which delivery it is. Nobody signs it, and no sender has it.
const numberHeader = "X-Delivery-Number"

// round is a gateway that is killed again and again, with a hook of each sender.
type round struct {
	options
	gateway *harness.Gateway
	client  harness.Client
	http    *http.Client
	senders []*party
	stop    []func()
	kills   int
}

// party is a sender and its hook.
type party struct {
	sender.Sender
	trigger string
	address string

	mu       sync.Mutex
	genuine  map[string]*outcome // by number
	altered  map[string]*outcome
	findings []string
}

// outcome is what became of a delivery.
type outcome struct {
	attempts, accepted, refused int
	lost                        int // attempts of which nobody knows what became of them
	repeats                     int // of an accepted one, which must start nothing
}

func runRound(ctx context.Context, o options) (l *ledger, err error) {
	r := &round{options: o, http: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: workers}}}
	defer func() {
		for i := len(r.stop) - 1; i >= 0; i-- {
			r.stop[i]()
		}
	}()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	return r.audit(ctx, time.Since(began))
}

func (r *round) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.progress, format+"\n", args...) // nowhere else to report to
}

func (r *round) start(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "sluice-hooks-")
	if err != nil {
		return err
	}
	r.stop = append(r.stop, func() { _ = os.RemoveAll(dir) }) // what is left is in the folder for such things
	if r.binary == "" {
		r.logf("building the gateway")
		if r.binary, err = harness.Build(ctx, dir); err != nil {
			return err
		}
	}
	database := "sqlite:" + filepath.Join(dir, "sluice.db")
	if r.store == "postgres" {
		server, err := harness.StartPostgres(ctx, pgtest.Options{})
		if err != nil {
			return err
		}
		r.stop = append(r.stop, server.Stop)
		database = server.URL
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	r.gateway, err = harness.NewGateway("gateway", r.binary, database, dir, "SLUICE_HOOKS_URL="+origin, "SLUICE_ENCRYPTION_KEY="+base64.StdEncoding.EncodeToString(key))
	if err != nil {
		return err
	}
	r.stop = append(r.stop, r.gateway.Stop)
	if _, err := r.gateway.Command(ctx, "migrate", "up"); err != nil {
		return err
	}
	return r.gateway.StartReady(ctx)
}

// prepare makes a trigger with a hook for each sender.
func (r *round) prepare(ctx context.Context) error {
	made, err := r.gateway.CreateTenant(ctx, "hooks")
	if err != nil {
		return err
	}
	if err := r.gateway.LiftLimits(ctx, made.ID); err != nil {
		return err
	}
	r.client = harness.Client{URL: r.gateway.URL, Key: made.SecretKey, HTTP: r.http}
	w, err := harness.Publish(ctx, r.client.Post, "deliveries", []map[string]any{harness.Transform("a", "payload.body")}, []any{})
	if err != nil {
		return err
	}
	for _, s := range sender.All() {
		p := &party{Sender: s, genuine: map[string]*outcome{}, altered: map[string]*outcome{}}
		if p.trigger, err = harness.CreateTrigger(ctx, r.client.Post, w.VersionID, s.Name, "webhook", map[string]any{}); err != nil {
			return err
		}
		secret := map[string]any{"key": s.Secret}
		if s.PublicKey != "" {
			secret = map[string]any{"publicKey": s.PublicKey}
		}
		var connection struct{ ID string }
		if err := r.client.Post(ctx, "/connections", map[string]any{"name": s.Name, "kind": "hmac", "secret": secret}, &connection); err != nil {
			return err
		}
		var hook struct{ URL string }
		err := r.client.Post(ctx, "/triggers/"+p.trigger+"/hook", map[string]any{
			"scheme": map[string]any{"preset": s.Preset}, "secrets": []string{connection.ID},
			"entityId": `payload.headers["x-delivery-number"]`, "limits": map[string]any{"perMinute": 600_000, "concurrent": 1000},
		}, &hook)
		if err != nil {
			return err
		}
		p.address = hook.URL + "?shop=1"
		r.senders = append(r.senders, p)
	}
	return nil
}

// workers is how many deliveries are under way at the same time.
const workers = 24

// load sends everything while the gateway is killed.
func (r *round) load(ctx context.Context) error {
	type job struct {
		party *party
		n     int
	}
	jobs := make(chan job)
	var sending, killing sync.WaitGroup
	loading, done := context.WithCancel(ctx)
	defer done()
	killing.Go(func() { r.kill(loading) })
	for i := range workers {
		random := mathrand.New(mathrand.NewPCG(r.seed, uint64(i)+1))
		sending.Go(func() {
			for j := range jobs {
				r.deliver(ctx, j.party, j.n, random)
			}
		})
	}
	r.logf("sending %d genuine and %d altered deliveries of each of %d senders", r.deliveries, r.deliveries, len(r.senders))
	for n := range r.deliveries {
		for _, p := range r.senders {
			jobs <- job{p, n}
		}
	}
	close(jobs)
	sending.Wait()
	done()
	killing.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return r.gateway.AwaitReady(ctx, 20*time.Millisecond)
}

// kill ends the gateway at random moments while it works, and starts it again.
func (r *round) kill(ctx context.Context) {
	random := mathrand.New(mathrand.NewPCG(r.seed, 0))
	for r.kills < r.options.kills && harness.Sleep(ctx, time.Duration(100+random.IntN(900))*time.Millisecond) {
		r.gateway.Process().Kill()
		r.kills++
		// A round that ends meanwhile still needs its gateway.
		if err := r.gateway.StartReady(context.WithoutCancel(ctx)); err != nil {
			r.logf("the gateway does not start again: %v", err)
			return
		}
	}
}

// deliver sends one genuine delivery until it is answered, as senders do, repeats some of them, and sends one that
// was altered.
func (r *round) deliver(ctx context.Context, p *party, n int, random *mathrand.Rand) {
	number := fmt.Sprintf("genuine-%d", n)
	was := r.until(ctx, p, number, func() sender.Delivery { return p.Deliver(p.address, n, time.Now()) })
	if random.IntN(10) == 0 && was.accepted > 0 && p.repeats() {
		if status := r.send(ctx, p, number, p.Deliver(p.address, n, time.Now())); status/100 == 2 {
			was.repeats++
		}
	}
	number = fmt.Sprintf("altered-%d", n)
	which := random.Float64()
	altered := r.until(ctx, p, number, func() sender.Delivery {
		return p.oneAltered(p.Deliver(p.address, r.deliveries+n, time.Now()), which)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.genuine[fmt.Sprintf("genuine-%d", n)], p.altered[number] = was, altered
}

// repeats says whether a delivery can be told from others, so that a repeat starts nothing.
func (p *party) repeats() bool { return p.Preset != "discord" && p.Preset != "dropbox" }

// oneAltered is one of the alterations, at a share of them.
func (p *party) oneAltered(d sender.Delivery, share float64) (altered sender.Delivery) {
	total := 0
	for range p.Alterations(d) {
		total++
	}
	at := int(math.Floor(share * float64(total)))
	for _, altered = range p.Alterations(d) {
		if at == 0 {
			return altered
		}
		at--
	}
	return altered
}

// until sends until there is an answer that is no failure of the gateway.
func (r *round) until(ctx context.Context, p *party, number string, next func() sender.Delivery) *outcome {
	o := &outcome{}
	for ctx.Err() == nil {
		o.attempts++
		switch status := r.send(ctx, p, number, next()); {
		case status/100 == 2:
			o.accepted++
			return o
		case status == 0 || status >= 500 || status == http.StatusTooManyRequests:
			o.lost++
			harness.Sleep(ctx, 20*time.Millisecond)
		default:
			o.refused = status
			return o
		}
	}
	return o
}

// send makes one request and returns the status; 0 for no answer.
func (r *round) send(ctx context.Context, p *party, number string, d sender.Delivery) int {
	told, err := url.Parse(d.URL)
	if err != nil {
		p.find("%s: %v", number, err)
		return http.StatusTeapot
	}
	request, err := http.NewRequestWithContext(ctx, d.Method, r.gateway.URL+told.RequestURI(), newBody(d.Body))
	if err != nil {
		p.find("%s: %v", number, err)
		return http.StatusTeapot
	}
	request.Header = d.Header
	request.Header.Set(numberHeader, number)
	answer, err := r.http.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }() // it is read to its end
	text := readAll(answer.Body)
	if answer.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" {
		p.find("%s: the answer %d bears the policy %q", number, answer.StatusCode, answer.Header.Get("Content-Security-Policy"))
	}
	if answer.StatusCode/100 != 2 && answer.StatusCode != http.StatusUnauthorized && answer.StatusCode < 500 {
		p.find("%s: answered %d: %s", number, answer.StatusCode, text)
	}
	return answer.StatusCode
}

func (p *party) find(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.findings) < 5 {
		p.findings = append(p.findings, fmt.Sprintf(format, args...))
	}
}

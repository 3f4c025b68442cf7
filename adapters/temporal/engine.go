package temporal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Options say where Temporal is, and who asks.
type Options struct {
	Address   string // host and port
	Namespace string
	TaskQueue string

	// Cert and Key are what the gateway shows of itself, and CA who may have signed for the server, in PEM; empty
	// for nothing, and for whom the system trusts. Where one of them or APIKey is set, the connection is encrypted.
	Cert, Key, CA string
	APIKey        string
}

// Check says what is wrong with the certificates, without their texts.
func (o Options) Check() error {
	_, err := o.tls()
	return err
}

// tls is nil for a connection that is not encrypted.
func (o Options) tls() (*tls.Config, error) {
	if o.Cert == "" && o.CA == "" && o.APIKey == "" {
		return nil, nil //nolint:nilnil // that is what the client takes for no encryption
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.Cert != "" && o.Key != "" {
		pair, err := tls.X509KeyPair([]byte(o.Cert), []byte(o.Key))
		if err != nil {
			return nil, errors.New("the certificate and its key do not belong together, or are no PEM") // the error may quote them
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if o.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(o.CA)) {
			return nil, errors.New("the certificate authority holds no certificate in PEM")
		}
	}
	return c, nil
}

// Engine implements outbound.Engine.
type Engine struct {
	client    client.Client
	taskQueue string
	cipher    outbound.Cipher // nil while nothing can be kept
	keysets   outbound.Keysets
	failed    atomic.Int64
}

var _ outbound.Engine = (*Engine)(nil)

// New returns an engine. It connects when it is first used, so that a server that is away keeps nobody from
// starting.
func New(o Options) (*Engine, error) {
	encrypted, err := o.tls()
	if err != nil {
		return nil, err
	}
	options := client.Options{HostPort: o.Address, Namespace: o.Namespace, Logger: silent{}, ConnectionOptions: client.ConnectionOptions{TLS: encrypted}}
	if o.APIKey != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	c, err := client.NewLazyClient(options)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to Temporal: %w", err)
	}
	return &Engine{client: c, taskQueue: o.TaskQueue}, nil
}

// KeepWith has Temporal keep what runs have done, sealed by a cipher. It is called before Serve.
func (e *Engine) KeepWith(cipher outbound.Cipher, keysets outbound.Keysets) {
	e.cipher, e.keysets = cipher, keysets
}

// Close ends the connection.
func (e *Engine) Close() { e.client.Close() }

// HandOver begins the workflow of the run, or signals the one that there is.
func (e *Engine) HandOver(ctx context.Context, lease outbound.RunLease) error {
	a := assignment{Tenant: string(lease.Tenant), Run: string(lease.Run), Lease: lease.Number}
	_, err := e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: a.Run, TaskQueue: e.taskQueue, StaticSummary: "of " + a.Tenant, EnableEagerStart: true,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, workflowName, a, []byte(nil))
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		_, err = e.client.SignalWithStartWorkflow(ctx, a.Run, signalName, a, client.StartWorkflowOptions{ // it may have ended by now
			TaskQueue: e.taskQueue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, StaticSummary: "of " + a.Tenant,
		}, workflowName, a, []byte(nil))
	}
	if err != nil {
		e.failed.Add(1)
		return fmt.Errorf("begin or signal the workflow: %w", err)
	}
	return nil
}

// Failed returns how often the server did not take a run since the start.
func (e *Engine) Failed() int64 { return e.failed.Load() }

// retryPause is the pause before the server is asked again that could not be reached.
const retryPause = time.Second

// stopTimeout is how long the activities of a process that ends may go on: longer than its worker lets runs.
const stopTimeout = 20 * time.Second

// Serve moves runs on that Temporal brings, as many at a time, until ctx ends.
func (e *Engine) Serve(ctx context.Context, mover inbound.Worker, concurrency int, failed func(error)) {
	for ctx.Err() == nil {
		w := worker.New(e.client, e.taskQueue, worker.Options{
			MaxConcurrentActivityExecutionSize: concurrency, WorkerStopTimeout: stopTimeout, DisableRegistrationAliasing: true,
			OnFatalError: failed,
		})
		w.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: workflowName})
		w.RegisterActivityWithOptions(func(ctx context.Context, a assignment, kept []byte) (outcome, error) {
			return e.moveOn(ctx, mover, a, kept), nil
		}, activity.RegisterOptions{Name: activityName})
		if err := w.Start(); err != nil {
			failed(fmt.Errorf("ask Temporal for runs: %w", err))
			outbound.Sleep(ctx, retryPause)
			continue
		}
		<-ctx.Done()
		w.Stop()
	}
}

// moveOn has the worker of this process move a run on, and says meanwhile that it lives.
func (e *Engine) moveOn(ctx context.Context, mover inbound.Worker, a assignment, kept []byte) outcome {
	owner, id := tenant.ID(a.Tenant), run.ID(a.Run)
	if a.Look {
		rests, err := mover.IsAtRest(ctx, owner, id)
		return outcome{Rests: rests && err == nil, Kept: kept} // otherwise it looks again
	}
	s := &signs{client: e.client, token: activity.GetInfo(ctx).TaskToken, kept: kept}
	defer s.giveEvery(heartbeatTimeout / 3)()
	plain, err := e.open(ctx, a, kept)
	if err != nil {
		return outcome{Refused: true, Kept: kept}
	}
	h := inbound.HandedOver{Tenant: owner, Run: id, Lease: a.Lease, Kept: plain}
	if e.cipher != nil {
		h.Keep = func(ctx context.Context, done []byte) error {
			sealed, err := e.cipher.Seal(ctx, e.keysets, done, keptField(a))
			if err != nil {
				return err
			}
			return s.keep(ctx, sealed)
		}
	}
	came, err := mover.MoveOn(ctx, h)
	o := outcome{Rests: came.Rests && err == nil, Refused: err != nil}
	if came.IsKept || err != nil {
		o.Kept = s.last()
	}
	return o
}

// open returns what was kept in clear; nothing where no key opens it any more: those attempts are made again.
func (e *Engine) open(ctx context.Context, a assignment, kept []byte) ([]byte, error) {
	if len(kept) == 0 || e.cipher == nil {
		return nil, nil
	}
	plain, err := e.cipher.Open(ctx, e.keysets, kept, keptField(a))
	if outbound.IsUnreadableSecret(err) {
		return nil, nil
	}
	return plain, err
}

func keptField(a assignment) outbound.SecretField {
	return outbound.SecretField{Tenant: tenant.ID(a.Tenant), Record: a.Run, Field: "kept by Temporal"}
}

// signs are the signs of life of an activity. Each holds what it was last given to keep, which the server
// hands on when no more of them come.
type signs struct {
	client client.Client
	token  []byte

	mu   sync.Mutex // held during a sign, so that an older one does not come after a newer one
	kept []byte
}

// keep returns nil once the server has it. The client of the SDK would keep it for seconds first.
func (s *signs) keep(ctx context.Context, kept []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.client.RecordActivityHeartbeat(ctx, s.token, kept)
	if err == nil {
		s.kept = kept
	}
	return err
}

func (s *signs) last() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept
}

// giveEvery gives signs until stop is called. One that does not come through is followed by the next.
func (s *signs) giveEvery(pause time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for outbound.Sleep(ctx, pause) {
			s.give(ctx, pause)
		}
	}()
	return cancel
}

func (s *signs) give(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.client.RecordActivityHeartbeat(ctx, s.token, s.kept) // the next one may
}

// silent keeps nothing of what the client says: what matters comes back as an error.
type silent struct{}

var _ log.Logger = silent{}

// Debug says nothing.
func (silent) Debug(string, ...any) {}

// Info says nothing.
func (silent) Info(string, ...any) {}

// Warn says nothing.
func (silent) Warn(string, ...any) {}

// Error says nothing.
func (silent) Error(string, ...any) {}

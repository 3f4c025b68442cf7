package temporal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
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

// Close ends the connection.
func (e *Engine) Close() { e.client.Close() }

// HandOver signals the workflow of the run, which begins where there is none, or none any more.
func (e *Engine) HandOver(ctx context.Context, lease outbound.RunLease) error {
	a := assignment{Tenant: string(lease.Tenant), Run: string(lease.Run), Lease: lease.Number}
	_, err := e.client.SignalWithStartWorkflow(ctx, a.Run, signalName, a, client.StartWorkflowOptions{
		TaskQueue: e.taskQueue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, StaticSummary: "of " + a.Tenant,
	}, workflowName, a)
	if err != nil {
		e.failed.Add(1)
		return fmt.Errorf("signal the workflow: %w", err)
	}
	return nil
}

// Failed returns how often the server did not take a run since the start.
func (e *Engine) Failed() int64 { return e.failed.Load() }

// retryPause is the pause before the server is asked again that could not be reached.
const retryPause = time.Second

// Serve moves runs on that Temporal brings, as many at a time, until ctx ends.
func (e *Engine) Serve(ctx context.Context, mover inbound.Worker, concurrency int, failed func(error)) {
	for ctx.Err() == nil {
		w := worker.New(e.client, e.taskQueue, worker.Options{
			MaxConcurrentActivityExecutionSize: concurrency, WorkerStopTimeout: time.Second, DisableRegistrationAliasing: true,
			OnFatalError: failed,
		})
		w.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: workflowName})
		w.RegisterActivityWithOptions(func(ctx context.Context, a assignment) (outcome, error) { return moveOn(ctx, mover, a) }, activity.RegisterOptions{Name: activityName})
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
func moveOn(ctx context.Context, mover inbound.Worker, a assignment) (outcome, error) {
	done := make(chan struct{})
	defer close(done)
	go func() {
		ticker := time.NewTicker(heartbeatTimeout / 3)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	finished, err := mover.MoveOn(ctx, tenant.ID(a.Tenant), run.ID(a.Run), a.Lease)
	return outcome{Finished: finished}, err
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

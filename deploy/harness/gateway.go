package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/deploy/testserver"
)

// Gateway is an address at which a gateway runs, again after it was stopped.
type Gateway struct {
	Name   string
	URL    string
	Binary string
	Log    string // file

	Subcommand string // that serves; "serve" unless given

	environ []string
	mu      sync.Mutex
	process *testserver.Process
}

// NewGateway describes a gateway that is still to be started. It is configured by
// SLUICE_ variables of this process and by those of environ, which win.
func NewGateway(name, binary, databaseURL, dir string, environ ...string) (*Gateway, error) {
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	g := &Gateway{Name: name, URL: "http://" + address, Binary: binary, Log: filepath.Join(dir, name+".log")}
	g.environ = append(os.Environ(), "SLUICE_DATABASE_URL="+databaseURL, "SLUICE_LISTEN="+address, "SLUICE_LOG_FORMAT=json")
	g.environ = append(g.environ, "SLUICE_ENCRYPTION_KEY="+encryptionKey)
	g.environ = append(g.environ, environ...)
	return g, nil
}

// encryptionKey is the one of gateways that are measured and tried; it protects nothing.
const encryptionKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// Ports below those that systems give to outgoing connections and to listeners on port 0:
// an address stays free until its gateway listens, also while it is restarted.
const (
	firstPort = 20_000
	ports     = 10_000
)

var usedPorts sync.Map // by this process

// FreeAddress returns an address of this machine that nobody listens on. No two calls
// return the same one.
func FreeAddress() (string, error) {
	for {
		port := firstPort + rand.IntN(ports)
		if _, used := usedPorts.LoadOrStore(port, true); used {
			continue
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp", address) //nolint:noctx // closed at once
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", err
		}
		return address, l.Close()
	}
}

// Start starts the process and does not wait until it is ready.
func (g *Gateway) Start() error {
	cmd := exec.Command(g.Binary, cmp.Or(g.Subcommand, "serve")) //nolint:noctx // ended by its methods
	cmd.Env = g.environ
	p, err := testserver.Start(cmd, g.Log, syscall.SIGKILL)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.process = p
	return nil
}

// StartReady starts the process and waits until it is ready.
func (g *Gateway) StartReady(ctx context.Context) error {
	if err := g.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ReadyTimeout)
	defer cancel()
	return g.AwaitReady(ctx, 20*time.Millisecond)
}

// Process is the one that was started last; nil before the first start.
func (g *Gateway) Process() *testserver.Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.process
}

// Stop ends the process, if there is one.
func (g *Gateway) Stop() {
	if p := g.Process(); p != nil {
		p.Stop()
	}
}

// ReadyTimeout bounds how long a gateway may take until it is ready.
const ReadyTimeout = 30 * time.Second

// AwaitReady asks the process whether it is ready, in these intervals, until it is. A
// process that ends is an error.
func (g *Gateway) AwaitReady(ctx context.Context, every time.Duration) error {
	if err := g.Process().Await(ctx, every, g.ready); err != nil {
		return fmt.Errorf("%s: %w", g.Name, err)
	}
	return nil
}

// readinessClient takes a new connection each time, so that it notices a closed listener.
var readinessClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}

func (g *Gateway) ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := readinessClient.Do(req)
	if err != nil {
		return err
	}
	_ = answer.Body.Close() // only the status matters
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// Command runs an operator's command, which works on the gateway's database.
func (g *Gateway) Command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, g.Binary, args...)
	cmd.Env = g.environ
	return Output(cmd)
}

// Tenant is what the operator is shown of a new tenant.
type Tenant struct {
	ID                string `json:"tenantId"`
	SecretKey         string `json:"secretKey"`
	WorkflowVersionID string `json:"workflowVersionId"` // of the example workflow, if there is one
}

// CreateTenant makes a tenant; args are further arguments of the command.
func (g *Gateway) CreateTenant(ctx context.Context, name string, args ...string) (ten Tenant, err error) {
	text, err := g.Command(ctx, append([]string{"tenant", "create", "--name", name, "--json"}, args...)...)
	if err != nil {
		return ten, err
	}
	return ten, json.Unmarshal(text, &ten)
}

// LiftLimits sets the limits of a tenant's secret keys to the most that can be set a
// minute, and to more concurrent requests than any load here makes.
func (g *Gateway) LiftLimits(ctx context.Context, tenantID string) error {
	_, err := g.Command(ctx, "tenant", "update", tenantID, "--secret-per-minute", "1000000", "--secret-concurrent", "100000")
	return err
}

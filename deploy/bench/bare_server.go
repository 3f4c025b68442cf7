package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/deploy/harness"
	"github.com/sluicehq/sluice/deploy/testserver"
)

// bareCommand is the sub-command that runs the baseline of reads: bare PATH FILE
// serves the file's bytes at the path, prints its address and does nothing else.
const bareCommand = "bare"

const jsonType = "application/json; charset=utf-8"

func serveBare(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("%w: %s takes a path and a file", harness.ErrUsage, bareCommand)
	}
	body, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	engine := newEngine()
	engine.GET(harness.APIPath+args[0], func(c *gin.Context) { c.Data(http.StatusOK, jsonType, body) })
	return serve(ctx, engine, stdout)
}

func newEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	return gin.New()
}

// serve prints the address that it serves on, until ctx ends.
func serve(ctx context.Context, engine *gin.Engine, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "http://%s\n", listener.Addr()); err != nil {
		return err
	}
	server := &http.Server{Handler: engine, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve reports it
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bareServer is a sub-command in a process of its own.
type bareServer struct {
	*testserver.Process
	url string
}

var printedAddress = regexp.MustCompile(`(http://\S+)\n`)

func (e *env) startBare(ctx context.Context, name string, command ...string) (*bareServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := testserver.Start(exec.CommandContext(ctx, self, command...), filepath.Join(e.dir, name+".log"), syscall.SIGKILL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, harness.ReadyTimeout)
	defer cancel()
	url, err := p.AwaitLog(ctx, printedAddress)
	if err != nil {
		p.Stop()
	}
	return &bareServer{p, url}, err
}

// startLike starts a server that sends what the gateway answers to a request.
func (e *env) startLike(ctx context.Context, name string, q loadRequest) (*bareServer, error) {
	body, err := q.send(ctx, e.gateway.URL)
	if err != nil {
		return nil, err
	}
	file, err := e.writeFile(name+".json", body)
	if err != nil {
		return nil, err
	}
	return e.startBare(ctx, name, bareCommand, q.Path, file)
}

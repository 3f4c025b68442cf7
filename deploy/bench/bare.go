package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"
)

// bareCommand is the sub-command that runs the baseline of reads: bare PATH FILE
// serves the file's bytes at the path, prints its address and does nothing else.
const bareCommand = "bare"

const jsonType = "application/json; charset=utf-8"

func serveBare(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("%w: %s takes a path and a file", errUsage, bareCommand)
	}
	body, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	engine := newEngine()
	engine.GET(args[0], func(c *gin.Context) { c.Data(http.StatusOK, jsonType, body) })
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
	baseURL string
	cmd     *exec.Cmd
	ended   chan error
}

func startBare(ctx context.Context, command ...string) (*bareServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bareServer{cmd: exec.CommandContext(ctx, self, command...), ended: make(chan error, 1)}
	b.cmd.Stderr = os.Stderr
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	bound(b.cmd)
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { b.ended <- b.cmd.Wait() }()
	if err != nil {
		b.stop()
		return nil, fmt.Errorf("the bare server did not say where it listens: %w", err)
	}
	b.baseURL = strings.TrimSpace(line)
	return b, nil
}

func (b *bareServer) stop() { endProcess(b.cmd, b.ended, syscall.SIGTERM) }

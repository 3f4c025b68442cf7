package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheHealthcheckAsksTheGatewayOfThisMachine(t *testing.T) {
	b := newBinary(t, sqliteURL(t))
	s := b.start("serve")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"127.0.0.1:" + port, ":" + port, "0.0.0.0:" + port} {
		check := binary{T: t, environ: append(b.environ, "SLUICE_LISTEN="+listen, "HTTP_PROXY=http://127.0.0.1:1")}
		if code, stdout, stderr := check.run("healthcheck"); code != exitDone || stdout != "" {
			t.Errorf("listening on %s: %d, %s%s", listen, code, stdout, stderr)
		}
	}
	s.stop()
	check := binary{T: t, environ: append(b.environ, "SLUICE_LISTEN=127.0.0.1:"+port)}
	if code, _, stderr := check.run("healthcheck"); code != exitFailed || !strings.Contains(stderr, "does not answer") {
		t.Errorf("without a gateway: %d, %s", code, stderr)
	}
	if code, _, stderr := b.run("healthcheck"); code != exitUsage || !strings.Contains(stderr, "SLUICE_LISTEN") {
		t.Errorf("with an unknown port: %d, %s", code, stderr)
	}
}

func TestTheHealthcheckSaysWhyTheGatewayIsNotReady(t *testing.T) {
	unready := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no database at "+r.URL.Path, http.StatusServiceUnavailable)
	}))
	defer unready.Close()
	err := checkHealth(t.Context(), unready.Listener.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "no database at /readyz") {
		t.Errorf("the error is %v", err)
	}
}

package egress_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/domain/connection"
)

// issue makes a certificate with its key, signed by a parent, or by itself where there is none.
func issue(t *testing.T, name string, parent *tls.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	made := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, DNSNames: []string{"named.test", "other.test"},
		BasicConstraintsValid: true,
	}
	by, signer := made, any(key)
	if parent == nil {
		made.IsCA, made.KeyUsage = true, x509.KeyUsageCertSign
	} else {
		by, signer = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, made, by, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// texts are a certificate and its key as PEM.
func texts(t *testing.T, c tls.Certificate) (certificate, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func poolOf(c tls.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.Leaf)
	return pool
}

// gate is a TLS server that notes which certificate each connection shows, also one whose handshake fails.
type gate struct {
	mu    sync.Mutex
	shown []string // a line for each connection: the server's name, and whose certificate it was
}

// open starts a server that asks for certificates of the authority. One that insists ends the handshake without any.
func (g *gate) open(t *testing.T, authority tls.Certificate, asks tls.ClientAuthType) (port string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that end
	s.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{issue(t, "server", &authority)}, ClientAuth: asks, ClientCAs: poolOf(authority),
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			own := s.TLS.Clone()
			own.GetConfigForClient = nil
			own.VerifyConnection = func(state tls.ConnectionState) error {
				whose := "nobody"
				if len(state.PeerCertificates) > 0 {
					whose = state.PeerCertificates[0].Subject.CommonName
				}
				g.mu.Lock()
				g.shown = append(g.shown, hello.ServerName+" "+whose)
				g.mu.Unlock()
				return nil
			}
			return own, nil
		},
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL[strings.LastIndex(s.URL, ":")+1:]
}

func (g *gate) take() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer func() { g.shown = nil }()
	return strings.Join(g.shown, ", ")
}

// The servers ask everybody for a certificate, and each name is the same machine: only the client holds it back.
func TestAClientCertificateIsShownToTheHostsOfItsConnectionOnly(t *testing.T) {
	authority := issue(t, "authority", nil)
	var insisting, asking gate
	insists, asks := insisting.open(t, authority, tls.RequireAndVerifyClientCert), asking.open(t, authority, tls.RequestClientCert)
	certificate, key := texts(t, issue(t, "customer", &authority))
	ca, _ := texts(t, authority)
	for name, secret := range map[string]map[string]any{
		"the system's authorities": {"certificate": certificate, "privateKey": key},
		"its own authority":        {"certificate": certificate, "privateKey": key, "ca": ca},
	} {
		credential := bearing(t, connection.MTLS, secret, "named.test:"+insists, "named.test:"+asks)
		for claim, c := range map[string]struct {
			bears                   bool
			url, code, insist, asks string
		}{
			"the server that insists gets it":            {true, "https://named.test:INSISTS/", "", "named.test customer", ""},
			"and nothing from who has none":              {false, "https://named.test:INSISTS/", "tls_failed", "", ""},
			"the server that asks gets it":               {true, "https://named.test:ASKS/", "", "", "named.test customer"},
			"a call without the connection shows none":   {false, "https://named.test:ASKS/", "", "", "named.test nobody"},
			"another host is not dialled":                {true, "https://other.test:ASKS/", "host_not_allowed", "", ""},
			"nor the address of the host":                {true, "https://127.0.0.1:ASKS/", "host_not_allowed", "", ""},
			"without TLS there is no call":               {true, "http://named.test:ASKS/", "tls_required", "", ""},
			"a redirect to another host shows none":      {true, "https://named.test:INSISTS/?to=https://other.test:ASKS/", "", "named.test customer", "other.test nobody"},
			"nor does one back from there":               {true, "https://named.test:INSISTS/?to=https://other.test:ASKS/%3Fto=https://named.test:ASKS/", "", "named.test customer", "other.test nobody, named.test nobody"},
			"another host that insists is not satisfied": {true, "https://named.test:ASKS/?to=https://other.test:INSISTS/", "tls_failed", "", "named.test customer"},
		} {
			g := local(t, egress.Options{Resolver: newZone(nil).resolver(t), RootCAs: poolOf(authority)}) // whose connections nobody else has opened
			client := g.Client(egress.Follow)
			if c.bears {
				client = g.Bearing(credential, egress.Follow)
			}
			code, err := get(t, client, strings.NewReplacer("INSISTS", insists, "ASKS", asks).Replace(c.url))
			if a, b := insisting.take(), asking.take(); code != c.code || a != c.insist || b != c.asks {
				t.Errorf("%s, %s: the code is %q, and shown was %q and %q: %v", name, claim, code, a, b, err)
			}
		}
	}
}

// A connection that is open already belongs to whose certificate it has shown.
func TestConnectionsOnWhichACertificateWasShownServeNobodyElse(t *testing.T) {
	authority := issue(t, "authority", nil)
	var asking gate
	port := asking.open(t, authority, tls.RequestClientCert)
	g := local(t, egress.Options{Resolver: newZone(nil).resolver(t), RootCAs: poolOf(authority)})
	var clients []*http.Client
	for _, name := range []string{"one", "two"} {
		certificate, key := texts(t, issue(t, name, &authority))
		clients = append(clients, g.Bearing(bearing(t, connection.MTLS, map[string]any{"certificate": certificate, "privateKey": key}, "named.test:"+port), egress.Follow))
	}
	clients = append(clients, g.Client(egress.Follow))
	for i, want := range []string{"one", "two", "nobody", "one"} {
		if code, err := get(t, clients[i%3], "https://named.test:"+port+"/"); code != "" {
			t.Fatal(err)
		}
		if shown := asking.take(); shown != "named.test "+want {
			t.Errorf("call %d shows %q", i+1, shown)
		}
	}
}

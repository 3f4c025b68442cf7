package main

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// usedSecrets has a gateway keep a secret of each kind, and returns those that must not be found anywhere. A new kind
// of secret gets a line here.
func usedSecrets(t *testing.T, b binary, s server) []string {
	t.Helper()
	made := b.json("tenant", "create", "--name", "Acme", "--example")
	p := &publisher{T: t, key: fmt.Sprint(made["secretKey"])}
	all := []string{fmt.Sprint(made["secretKey"])}
	keep := func(doc map[string]any) {
		t.Helper()
		before := len(all)
		for _, value := range doc {
			if text, _ := value.(string); strings.HasPrefix(text, "whsec_") || strings.HasPrefix(text, "sk_") {
				all = append(all, text)
			}
		}
		if len(all) == before {
			t.Fatalf("there is no secret in an answer about %v", doc["id"])
		}
	}
	r := newReceiver(t)
	endpoint := p.call(s, http.MethodPost, "/webhook-endpoints", fmt.Sprintf(`{"url":%q}`, r.URL+"/a"))
	keep(endpoint)
	keep(p.call(s, http.MethodPost, fmt.Sprint("/webhook-endpoints/", endpoint["id"], "/rotate-secret"), ""))
	p.call(s, http.MethodPost, fmt.Sprint("/webhook-endpoints/", endpoint["id"], "/test"), "")
	node := p.call(s, http.MethodPost, "/custom-nodes", `{"type":"enrich","name":"Enrich","version":"1.0.0","endpoint":"https://example.com","inputSchema":{},"outputSchema":{},"configSchema":{}}`)
	keep(node)
	keep(p.call(s, http.MethodPost, "/custom-nodes/secret/rotate", ""))
	keep(p.call(s, http.MethodPost, "/api-keys", `{"type":"secret","name":"deploy"}`))
	all = append(all, usedConnections(p, s)...)
	all = append(all, consented(p, s)...)
	all = append(all, cameIn(t, b, s)...)
	if status, answer := s.request(t, http.MethodGet, "/v1/gateway/webhook-endpoints", p.key, ""); status != http.StatusOK || finds([]byte(answer), all) != "" {
		t.Errorf("the list shows a secret, or fails: %d", status)
	}
	return all
}

// finds returns one of the secrets that the text has: in clear, in hexadecimal or in base64, of its text or of the key
// in it.
func finds(text []byte, secrets []string) string {
	for _, secret := range secrets {
		forms := []string{secret, hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
		for shift := range 3 { // base64 depends on what is before it
			encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
			forms = append(forms, encoded[4:len(encoded)-4])
		}
		if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
			key, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				return "a malformed secret"
			}
			forms = append(forms, encoded, string(key), hex.EncodeToString(key), strings.ToUpper(hex.EncodeToString(key)))
		}
		for _, form := range forms {
			if bytes.Contains(text, []byte(form)) {
				return secret
			}
		}
	}
	return ""
}

func TestASecretIsFoundInEachOfItsForms(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	key, err := base64.StdEncoding.DecodeString(secret[6:])
	if err != nil {
		t.Fatal(err)
	}
	for claim, text := range map[string]string{
		"in clear": `{"secret":"` + secret + `"}`, "in hexadecimal": `\x` + hex.EncodeToString([]byte(secret)), "its key": "a" + string(key),
		"its key in hexadecimal": hex.EncodeToString(key), "in base64 inside of something": base64.StdEncoding.EncodeToString([]byte(`{"answer":"` + secret + `"}`)),
	} {
		if finds([]byte(text), []string{secret}) == "" {
			t.Errorf("%s it is not found", claim)
		}
	}
	if finds([]byte("sealed:"+strings.Repeat("A", 100)), []string{secret}) != "" {
		t.Error("it is found where it is not")
	}
}

// searchFiles fails for each file below the folder that has a secret.
func searchFiles(t *testing.T, folder string, secrets []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if found := finds(text, secrets); found != "" {
			t.Errorf("%s holds the secret that begins with %s", filepath.Base(path), found[:9])
		}
		files++
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files were searched: %v", files, err)
	}
}

// searchProcess fails when a gateway shows a secret in its log or its metrics.
func searchProcess(t *testing.T, s server, secrets []string) {
	t.Helper()
	if found := finds([]byte(s.stderr.String()+s.stdout.String()), secrets); found != "" {
		t.Errorf("the log holds the secret that begins with %s", found[:9])
	}
	address, ok := s.stderr.await(`"metricsUrl":"(http://[^"]+)"`)
	if !ok {
		t.Fatal("the gateway serves no metrics")
	}
	metrics := server{url: strings.TrimSuffix(address, "/metrics")}
	if status, text := metrics.request(t, http.MethodGet, "/metrics", "", ""); status != http.StatusOK || finds([]byte(text), secrets) != "" {
		t.Errorf("the metrics hold a secret, or fail: %d", status)
	} else if counted := `sluice_oauth_token_requests_total{grant="refresh",result="issued"} 1`; !strings.Contains(text, counted+"\n") {
		t.Errorf("there is no %s", counted)
	}
}

func TestNoFileOfASQLiteDatabaseHoldsASecret(t *testing.T) {
	traces := newCollector(t)
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, traces.environ(), "SLUICE_EGRESS_ALLOW=127.0.0.0/8", "SLUICE_METRICS_LISTEN=127.0.0.1:0", "SLUICE_LOG_LEVEL=trace")
	s := b.start("serve")
	secrets := usedSecrets(t, b, s)
	searchProcess(t, s, secrets)
	file := strings.TrimPrefix(strings.TrimPrefix(b.environ[0], "SLUICE_DATABASE_URL="), "sqlite:")
	key, err := os.ReadFile(file + ".key")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file + ".key"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file is %v, %v", info.Mode(), err)
	}
	if strings.Contains(s.stderr.String(), strings.TrimSpace(string(key))) {
		t.Error("the log holds the key")
	}
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), `VACUUM INTO ?`, filepath.Join(filepath.Dir(file), "backup.db")); err != nil {
		t.Fatal(err)
	}
	searchFiles(t, filepath.Dir(file), secrets) // with the write-ahead log
	s.stop()
	searchFiles(t, filepath.Dir(file), secrets)
	if found := finds([]byte(s.stderr.String()), secrets); found != "" { // which is whole only now
		t.Errorf("the log holds the secret that begins with %.9s", found)
	}
	traces.mu.Lock()
	defer traces.mu.Unlock()
	if found := finds(traces.exported.Bytes(), secrets); traces.exported.Len() == 0 || found != "" {
		t.Errorf("%d bytes of traces hold the secret %.9s", traces.exported.Len(), found)
	}
}

func TestNoDumpAndNoLogOfPostgreSQLHoldsASecret(t *testing.T) {
	cluster, err := pgtest.Launch(t.Context(), pgtest.Options{Programs: []string{"pg_dump", "psql"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	b := newBinary(t, cluster.URL)
	b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.0/8", "SLUICE_METRICS_LISTEN=127.0.0.1:0", "SLUICE_LOG_LEVEL=trace")
	s := b.start("serve")
	secrets := usedSecrets(t, b, s)
	searchProcess(t, s, append(secrets, testKey))
	dump, err := exec.CommandContext(t.Context(), filepath.Join(cluster.Programs, "pg_dump"), cluster.URL).Output()
	if err != nil || len(dump) < 10_000 {
		t.Fatalf("the dump has %d bytes: %v", len(dump), err)
	}
	if found := finds(dump, append(secrets, testKey)); found != "" {
		t.Errorf("the dump holds the secret that begins with %s", found[:9])
	}
	db, err := sql.Open("postgres", cluster.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var folder string
	if err := db.QueryRowContext(t.Context(), `SHOW data_directory`).Scan(&folder); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CHECKPOINT`); err != nil {
		t.Fatal(err)
	}
	searchFiles(t, filepath.Join(folder, "pg_wal"), secrets)
	searchFiles(t, filepath.Join(folder, "base"), secrets)
}

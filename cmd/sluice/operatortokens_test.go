package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

func TestAWrongFileOfTokensStopsTheStart(t *testing.T) {
	good := strings.Repeat("k", 32)
	file := filepath.Join(t.TempDir(), "tokens")
	for text, mistake := range map[string]string{
		"ana=" + good: "", "ana=" + good + " read,runs\n": "",
		"":                       "holds no line name=token",
		"ana=short\nben=" + good: "holds line 1 whose token is not 32 to 1024",
		"ana=" + good + " root":  "holds line 1 with a scope that is not read, tenants or runs",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := readConfig([]string{"SLUICE_OPERATOR_TOKENS_FILE=" + file})
		switch {
		case mistake == "":
			if err != nil || len(cfg.namedTokens) != 1 || cfg.operatorTokens() == nil {
				t.Errorf("%q: %v", text, err)
			}
		case err == nil || !strings.Contains(err.Error(), "SLUICE_OPERATOR_TOKENS_FILE "+mistake) || strings.Contains(err.Error(), good):
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := readConfig([]string{"SLUICE_OPERATOR_TOKENS_FILE=" + file + ".missing"}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("without a file: %v", err)
	}
	if (config{}).operatorTokens() != nil {
		t.Error("without a setting there are tokens")
	}
}

func TestTokensAreReadAgainWithinTenSecondsAndAWrongFileChangesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second, single := strings.Repeat("1", 32), strings.Repeat("2", 32), strings.Repeat("s", 32)
	write("ana=" + first + " read")
	cfg, err := readConfig([]string{"SLUICE_OPERATOR_TOKENS_FILE=" + file, "SLUICE_OPERATOR_TOKEN=" + single})
	if err != nil {
		t.Fatal(err)
	}
	tokens := cfg.operatorTokens()
	var out, log bytes.Buffer
	logger, flush := newLogger(&out, cfg)
	synctest.Test(t, func(t *testing.T) {
		defer cfg.followOperatorTokens(t.Context(), zerolog.New(&log), roleAll, tokens)()
		open := func() (names string) {
			for _, text := range []string{first, second, single} {
				if name, ok := tokens.Who(text); ok {
					names += name + " "
				}
			}
			return names
		}
		for _, step := range []struct{ file, want string }{
			{"ana=" + first + " read", "ana operator "},
			{"ana=" + first + " read\nben=" + second, "ana ben operator "},
			{"ana=" + first + " read\nben", "ana ben operator "},
			{"ben=" + second, "ben operator "},
		} {
			write(step.file)
			time.Sleep(10 * time.Second) // of the test's own clock
			synctest.Wait()
			if got := open(); got != step.want {
				t.Errorf("with %q there are %s", step.file, got)
			}
		}
	})
	want := []string{`"names":["ana","ben"]`, "SLUICE_OPERATOR_TOKENS_FILE is wrong", `"names":["ben"]`}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("the log has %s", log.String())
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) || strings.Contains(line, first) {
			t.Errorf("line %d of the log is %s", i+1, line)
		}
	}
	logger.Info().Str("path", "/"+second).Msg(single)
	flush()
	if strings.Contains(out.String(), second) || strings.Contains(out.String(), single) {
		t.Errorf("the log shows tokens: %s", out.String())
	}
}

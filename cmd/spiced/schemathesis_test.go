package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/clients"
)

// TestSchemathesis sends what the OpenAPI document permits, and what it does not, to
// every route. SPICED_TEST_SCHEMATHESIS is how many seconds that takes.
func TestSchemathesis(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("SPICED_TEST_SCHEMATHESIS"))
	if err != nil {
		t.Skip("takes minutes: set SPICED_TEST_SCHEMATHESIS to a number of seconds")
	}
	schemathesis := clients.Find(t, "SCHEMATHESIS", "schemathesis/bin/schemathesis")
	model := startModel(t)
	model.Script(chattest.Always(chattest.Say(chattest.Text("SELECT 1 AS one"))))
	dir := folder(t, "spicepod.yaml", directPod.text(t, model.URL)+schemathesisData, "trips.csv", "id,km\n1,10.5\n2,3\n")
	p := start(t, dir, "--state-dir", t.TempDir())
	config, err := filepath.Abs("testdata/schemathesis/schemathesis.toml")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second+2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, schemathesis, "--config-file", config, "--no-color", "run", p.url+"/v1/openapi.json", "--max-time", strconv.Itoa(seconds))
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("schemathesis: %v", err)
	}
}

const schemathesisData = `
datasets:
  - { name: trips, from: "file:trips.csv", acceleration: { enabled: true } }
`

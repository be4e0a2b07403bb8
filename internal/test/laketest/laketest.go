// Package laketest writes tables of Delta Lake and Iceberg for tests, with their own
// libraries, from the virtual environment of the tests' clients. A test skips
// without it.
//
//	rows := laketest.Write(t, "delta", filepath.Join(dir, "orders"))
package laketest

import (
	"bytes"
	_ "embed"
	"os"
	"os/exec"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/clients"
)

//go:embed lake.py
var script string

// Write calls a function of lake.py with a folder or a URL, and variables of the
// environment. It returns what the function prints.
func Write(t testing.TB, function, folder string, environment ...string) string {
	t.Helper()
	program := clients.Find(t, "THE WRITING OF DELTA LAKE AND ICEBERG", "lakes/bin/python")
	var out, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), program, "-c", script, function, folder)
	c.Env = append(os.Environ(), environment...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", function, folder, err, &errs)
	}
	return out.String()
}

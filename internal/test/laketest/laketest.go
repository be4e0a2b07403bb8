// Package laketest writes tables of Delta Lake and Iceberg for tests, with their own
// libraries, from the virtual environment of the tests' clients. A test skips, saying so,
// without it.
//
//	rows := laketest.Write(t, "delta", filepath.Join(dir, "orders"))
package laketest

import (
	"bytes"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed lake.py
var script string

// Write calls a function of lake.py with a folder or a URL, and variables of the
// environment. It returns what the function prints.
func Write(t testing.TB, function, folder string, environment ...string) string {
	t.Helper()
	program := filepath.Join(os.Getenv("SPICED_TEST_CLIENTS"), "lakes/bin/python")
	if _, err := os.Stat(program); err != nil {
		t.Skip("DELTA LAKE AND ICEBERG ARE NOT TESTED: there is no lakes/bin/python in the folder that SPICED_TEST_CLIENTS names")
	}
	var out, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), program, "-c", script, function, folder)
	c.Env = append(os.Environ(), environment...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", function, folder, err, &errs)
	}
	return out.String()
}

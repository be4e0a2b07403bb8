package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What the file of the audit log cannot take goes to the log, with one report.
func TestAuditFileThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	var reports []bool // whether each is a failure
	a := &auditFile{path: path, log: &log, report: func(err error) { reports = append(reports, err != nil) }}
	defer a.Close()
	for _, record := range []string{"1\n", "2\n"} {
		if _, err := a.Write([]byte(record)); err != nil {
			t.Error(err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write([]byte("3\n")); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "3\n" || log.String() != "1\n2\n" {
		t.Errorf("the file has %q, the log %q, %v", text, log.String(), err)
	}
	if len(reports) != 2 || !reports[0] || reports[1] {
		t.Errorf("reports %v", reports)
	}
}

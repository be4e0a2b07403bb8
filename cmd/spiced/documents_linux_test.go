package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/doctest"
	"github.com/spiced-sql/spiced/internal/test/full"
)

// A document that ends its worker, or is beyond a limit, costs itself alone: its row has an
// error, and the documents that are read next to it and after it are not affected.
func TestHostileDocumentsCostThemselves(t *testing.T) {
	want := map[string]string{"laughs.pdf": "reading it ", "nested.docx": "elements in more than 1000 others"}
	if full.Test() {
		want["text.pdf"], want["bomb.pdf"], want["bomb.docx"] = "reading it ", "reading it ", "more than 256 MB"
		want["zero.txt"], want["nested.html"] = "not text", "exceeds 512 nodes"
	}
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	makes := doctest.Hostile(t)
	for name := range want {
		write(name, makes[name]())
	}
	good := doctest.PDF(doctest.Page("Gate 4")).Bytes()
	for _, name := range []string{"a.pdf", "m.pdf", "z.pdf"} { // before, between and after the others
		write(name, good)
		want[name] = ""
	}
	write("spicepod.yaml", []byte("version: v1\nkind: Spicepod\nname: t\ndatasets:\n  - { name: docs, from: 'file:.', "+
		"params: { file_format: document } }\n"))
	var out, errs bytes.Buffer
	query := "SELECT id, coalesce(content, ''), coalesce(metadata->>'error', '') FROM docs"
	if status := run(t.Context(), []string{"sql", dir, "-o", "csv", "-c", query}, streams{strings.NewReader(""), &out, &errs}); status != exitGood {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		reason, ok := want[row[0]]
		delete(want, row[0])
		switch {
		case !ok || reason == "" && row[1] != "Gate 4":
			t.Errorf("got %q", row)
		case reason != "" && (row[1] != "" || !strings.Contains(row[2], reason)):
			t.Errorf("%s: error %q, want %q", row[0], row[2], reason)
		}
	}
	if len(want) > 0 {
		t.Errorf("no rows of %v", want)
	}
}

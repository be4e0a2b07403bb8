package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesOfANewerDuckDB reads a header of the storage version 99.
func TestFilesOfANewerDuckDB(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", podHead+"datasets: [{ name: n, from: \"duckdb:t\", params: { open: new.duckdb } }]\n")
	header := make([]byte, 3*4096)
	copy(header[8:], "DUCK")
	binary.LittleEndian.PutUint64(header[12:], 99)
	sum := uint64(5381)
	for i := 8; i < 4096; i += 8 {
		sum ^= binary.LittleEndian.Uint64(header[i:]) * 0xbf58476d1ce4e5b9
	}
	binary.LittleEndian.PutUint64(header, sum)
	if err := os.WriteFile(filepath.Join(dir, "new.duckdb"), header, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	status := run(t.Context(), []string{"validate", dir}, streams{strings.NewReader(""), &out, &errs})
	want := "dataset n: the file was written by a newer DuckDB than v1."
	if status != exitFaults || !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "STORAGE_VERSION 'v1.2.0'") {
		t.Errorf("status %d, %s%s", status, out.String(), errs.String())
	}
}

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/full"
)

// TestSmallFilesTakeLittleMemory reads a small CSV file many times in a statement, in a worker
// with little memory.
func TestSmallFilesTakeLittleMemory(t *testing.T) {
	full.Need(t, "it reads a file 16 times in a worker of 1 GiB")
	var rows strings.Builder
	rows.WriteString("id,k\n")
	for i := range 40_000 {
		fmt.Fprintf(&rows, "%d,%d\n", i, i%250)
	}
	p := start(t, folder(t, "people.csv", rows.String(), "spicepod.yaml", `version: v1
kind: Spicepod
name: small
runtime: { query: { worker_memory: 1GiB } }
datasets:
  - { name: people, from: "file:people.csv" }
`))
	var scans []string
	for i := range 16 {
		scans = append(scans, fmt.Sprintf("(SELECT count(*) FROM people WHERE k < %d)", i))
	}
	p.want(p.do("POST", "/v1/sql", "SELECT "+strings.Join(scans, " + ")+" AS n"), 200, `[{"n":19200}]`)
}

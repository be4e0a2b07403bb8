package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fullPod has data in files of the state directory, and counts of calls.
const fullPod = `version: v1
kind: Spicepod
name: full
runtime:
  functions: { enabled: true }
datasets:
  - { name: k, from: "file:k.csv", acceleration: { enabled: true, mode: file } }
  - { name: m, from: "file:k.csv", acceleration: { enabled: true } }
functions:
  - name: f
    from: sql
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x + 1
`

// smallDisk mounts a separate file system on a folder until the test ends.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("A FULL DISK IS NOT TESTED: it takes root to mount a small one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no space in a folder: neither for data nor for files and folders.
func fill(t *testing.T, dir string) {
	t.Helper()
	name := func() string { return filepath.Join(dir, fmt.Sprint("filler", rand.Int())) }
	f, err := os.Create(name())
	for _, size := range []int{64 << 10, 1} {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if err = nil; f == nil {
			return
		}
	}
	f.Close()
	for err == nil {
		err = os.Symlink(dir, name())
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// removeAll removes what a pattern matches.
func removeAll(t *testing.T, pattern string) {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if err := os.RemoveAll(f); err != nil {
			t.Error(err)
		}
	}
}

// A full disk of the state directory stops neither a runtime that serves, nor its start
// after it was killed. The log names what cannot be written.
func TestFullStateDisk(t *testing.T) {
	state := smallDisk(t, "size=24m,nr_inodes=256")
	dir := folder(t, "spicepod.yaml", fullPod, "k.csv", "i\n1\n2\n")
	p := startProcess(t, dir, "--state-dir", state, "--watch=false", "--log-level", "info")
	wantAll(p)
	fill(t, state)
	wantAll(p)
	p.want(p.do("POST", "/v1/datasets/k/acceleration/refresh", ""), 201)
	wantAll(p)
	p.signal(os.Kill)
	p.wait()
	<-p.status
	p.status <- 0                                   // it was asked for
	removeAll(t, filepath.Join(state, "workers/*")) // which a start would remove
	fill(t, state)

	p = startProcess(t, dir, "--state-dir", state, "--watch=false", "--log-level", "info")
	wantAll(p)
	if !strings.Contains(p.log.String(), "no space left on device") {
		t.Errorf("it does not say what it cannot write:\n%s", p.log)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT json_structure("+deep+")"), 400, "the statement ended its worker")
	wantAll(p) // in workers that start now
	removeAll(t, filepath.Join(state, "filler*"))
	wantAll(p)
}

// wantAll asks all that fullPod serves.
func wantAll(p *program) {
	p.t.Helper()
	p.want(p.do("POST", "/v1/sql", "SELECT count(*) AS n, f(41) AS x FROM k", "Cache-Control", "no-cache"), 200, `[{"n":2,"x":42}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT sum(i)::BIGINT AS n FROM m", "Cache-Control", "no-cache"), 200, `[{"n":3}]`)
	p.want(p.do("POST", "/v1/tools/f:invoke", `{"args": {"x": 1}}`, "Content-Type", "application/json"), 200, `"ok":true`)
	p.want(p.do("POST", "/v1/tools/sql:invoke", `{"args": {"query": "SELECT count(*) AS n FROM k"}}`, "Content-Type", "application/json"), 200, `"ok":true`)
}

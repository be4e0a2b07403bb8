package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// wasmPod has functions whose bodies are modules of the tests.
const wasmPod = `version: v1
kind: Spicepod
name: wasm
runtime: { functions: { enabled: true } }
functions:
  - { name: plus, from: wasm, entrypoint: add, signature: { args: [{ name: a, type: int64 }, { name: b, type: int64 }], returns: int64 }, body_ref: numbers.wasm }
  - { name: plus_arrow, from: wasm, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body_ref: arrow.wasm }
`

// benchWASM calls functions whose bodies are WebAssembly modules for ten million rows, on one
// thread, in statements that run in workers.
func benchWASM(ctx context.Context, e *env) ([]row, error) {
	dir, err := os.MkdirTemp(e.dir, "wasm")
	if err != nil {
		return nil, err
	}
	files := map[string]string{"spicepod.yaml": wasmPod}
	for _, name := range []string{"numbers.wasm", "arrow.wasm"} {
		data, err := os.ReadFile(filepath.Join("internal/bodies/wasm/testdata", name))
		if err != nil {
			return nil, err
		}
		files[name] = string(data)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	s, err := e.serveFolder(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var rows []row
	for _, c := range []struct{ what, call, target string }{
		{"numbers", "plus(i, 1)", "≥ 5 million/s"},
		{"Arrow data", "plus_arrow(i)", "≥ 5 million/s"},
		{"the same in SQL", "i + 1", ""},
	} {
		if _, err := s.sql(ctx, "SELECT sum("+c.call+") FROM range(10000) t(i)"); err != nil { // the worker is there, and has the function
			return nil, err
		}
		before, err := s.processorTime()
		if err != nil {
			return nil, err
		}
		if _, err := s.sql(ctx, "SELECT sum("+c.call+") FROM range(10000000) t(i)"); err != nil {
			return nil, err
		}
		after, err := s.processorTime()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{
			"function from wasm, int64, 10 million rows, per second of processor time: " + c.what,
			fmt.Sprintf("%.1f million/s", 10/max(after-before, 10*time.Millisecond).Seconds()), c.target,
		})
	}
	return rows, nil
}

// processorTime is the time that the processors have spent on spiced and its workers.
func (s *server) processorTime() (total time.Duration, err error) {
	workers, err := s.children()
	for _, pid := range append(workers, strconv.Itoa(s.cmd.Process.Pid)) {
		took, timeErr := processorTime(pid)
		total, err = total+took, errors.Join(err, timeErr)
	}
	return total, err
}

// processorTime is the time that the processors have spent on a process.
func processorTime(pid string) (time.Duration, error) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, err
	}
	// The fields after the name, which is in parentheses, are numbers: the twelfth and
	// thirteenth are ticks of 10 ms.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s has no times", text)
	}
	user, userErr := strconv.Atoi(fields[11])
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(userErr, err)
}

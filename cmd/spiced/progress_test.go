package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/load"
)

func TestProgressWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	report := progress(&out, nil)
	for s := range 25 {
		report(load.Progress{Dataset: "a", Step: "fetch", Bytes: int64(s) * 1e6, Total: 50e6, Percent: 2 * s, Elapsed: time.Duration(s) * time.Second})
		report(load.Progress{Dataset: "b", Step: "load", Total: 2e6, Percent: -1, Elapsed: time.Duration(s) * 600 * time.Millisecond})
	}
	report(load.Progress{Dataset: "a", Step: "fetch", Elapsed: time.Minute, Done: true})
	want := "dataset a: fetch, 10s, 20 % of 50.0 MB\ndataset b: load, 10.2s, 2.0 MB\ndataset a: fetch, 20s, 40 % of 50.0 MB\n"
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}

func TestProgressInTheLog(t *testing.T) {
	var out, log bytes.Buffer
	report := progress(&out, slog.New(slog.NewTextHandler(&log, nil)))
	for s := range 15 {
		report(load.Progress{Dataset: "a", Step: "fetch", Total: -1, Percent: -1, Elapsed: time.Duration(s) * time.Second})
	}
	if bytes.Count(log.Bytes(), []byte(`msg="dataset is loading" dataset=a`)) != 1 || out.Len() > 0 {
		t.Errorf("log %q, output %q", log.String(), out.String())
	}
}

func TestCtrlCSaysCancelled(t *testing.T) {
	dir := folder(t, "spicepod.yaml", numbers, "k.csv", numbersCSV)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"validate", dir}, {"test", dir}, {"sql", "-c", "SELECT 1", dir}, {"search", dir, "numbers"}, {"lint", dir}} {
		var out, errs bytes.Buffer
		if status := run(ctx, args, streams{strings.NewReader(""), &out, &errs}); status != exitCancel || errs.String() != "spiced: cancelled\n" {
			t.Errorf("%s: status %d, %q", args[0], status, errs.String())
		}
	}
}

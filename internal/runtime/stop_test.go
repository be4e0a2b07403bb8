package runtime

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

// TestStopDuringLoad: a load that ends because the process stops is no fault of the Spicepod.
func TestStopDuringLoad(t *testing.T) {
	var log bytes.Buffer
	r := prepare(t, files{"spicepod.yaml": "functions:\n" + tested(fn("f", "x", "x"), 1, "1")}, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if report := r.Load(ctx, "start"); report.Accepted {
		t.Error("the load was accepted")
	}
	if got := log.String(); strings.Contains(got, "level=ERROR") || !strings.Contains(got, "the load was stopped") {
		t.Errorf("log:\n%s", got)
	}
}

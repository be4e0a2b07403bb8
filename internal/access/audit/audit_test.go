package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/sql/fingerprint"
)

func TestRecord(t *testing.T) {
	for name, c := range map[string]struct {
		entry audit.Entry
		want  map[string]any
	}{
		"a statement": {
			audit.Entry{
				Kind: audit.Statement, Protocol: "postgres", Principal: "bi", User: "ann", RequestID: "r", Remote: "127.0.0.1:9",
				Fingerprint: fingerprint.Of("SELECT 'a secret'"), Rows: 3, Bytes: 42, Took: 1500 * time.Nanosecond, Outcome: audit.OK,
			},
			map[string]any{
				"kind": "statement", "door": "postgres", "outcome": "ok", "principal": "bi", "user": "ann", "request_id": "r", "remote": "127.0.0.1:9",
				"fingerprint": fingerprint.Of("SELECT 'a secret'").ID, "sql": "select ?", "rows": 3.0, "bytes": 42.0, "took": 2000.0,
			},
		},
		"a refused key": {
			audit.Entry{Kind: audit.Login, Protocol: "http", Outcome: "unauthorized"},
			map[string]any{"kind": "login", "door": "http", "outcome": "unauthorized"},
		},
		"a tool": {
			audit.Entry{Kind: audit.Tool, Protocol: "mcp", Tool: "sql", Outcome: "timeout"},
			map[string]any{"kind": "tool", "door": "mcp", "tool": "sql", "outcome": "timeout", "rows": 0.0, "bytes": 0.0, "took": 0.0},
		},
	} {
		var b bytes.Buffer
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // whoever left is recorded too
		audit.New(slog.New(slog.NewJSONHandler(&b, nil))).Record(ctx, c.entry)
		var got map[string]any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		delete(got, "time")
		c.want["level"], c.want["msg"] = "INFO", "audit"
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestNobodyRecords(t *testing.T) {
	var none *audit.Log
	if none.Enabled() {
		t.Error("a nil log is enabled")
	}
	none.Record(context.Background(), audit.Entry{})
	var b bytes.Buffer
	quiet := audit.New(slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelWarn})))
	quiet.Record(context.Background(), audit.Entry{})
	if quiet.Enabled() || b.Len() > 0 {
		t.Errorf("a quiet log wrote %s", &b)
	}
}

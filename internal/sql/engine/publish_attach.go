package engine

import (
	"context"
	"strings"
	"time"
)

// AttachReadOnly completes the file of the attached database name, and attaches it
// read-only under the name as, so that other processes can attach it too. A statement that
// scans DuckDB's catalog uses every attached database until it ends: AttachReadOnly waits
// for it, for half a minute at most.
func (db *DB) AttachReadOnly(ctx context.Context, name, path, as string) error {
	wait, stop := context.WithTimeout(ctx, attachWait)
	defer stop()
	ctx = context.WithoutCancel(ctx) // DuckDB must not be interrupted while it writes a checkpoint
	for _, sql := range []string{
		"CHECKPOINT " + Identifier(name),
		"DETACH " + Identifier(name),
		"ATTACH " + Literal(path) + " AS " + Identifier(as) + " (READ_ONLY)",
	} {
		for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
			err := db.Exec(ctx, sql)
			if err == nil {
				break
			}
			if !inUse(err) || !waited(wait, pause) {
				return err
			}
		}
	}
	return nil
}

const attachWait = 30 * time.Second

// inUse reports whether a statement failed because others use the database. Only the text
// of DuckDB's errors shows it.
func inUse(err error) bool {
	text := err.Error()
	return strings.Contains(text, "there are other write transactions active") ||
		strings.Contains(text, "Unique file handle conflict")
}

// waited reports whether d passed before the end of ctx.
func waited(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

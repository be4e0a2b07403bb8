package engine

import (
	"context"
	"testing"
	"time"
)

// FuzzGuard sends random text to a locked database: no panic, no hang, nothing
// changes.
func FuzzGuard(f *testing.F) {
	for _, attacks := range corpus(f, "/nowhere") {
		for i, a := range attacks {
			if i%8 == 0 {
				f.Add(a.sql)
			}
		}
	}
	db, _ := locked(f, Options{MemoryLimit: "256MB", Limits: Limits{Timeout: 20 * time.Millisecond, MaxRows: 1000, MaxBytes: 1 << 20}})
	before, runs := state(f, db), 0
	f.Fuzz(func(t *testing.T, sql string) {
		start := time.Now()
		_, err := run(context.Background(), db, Request{SQL: sql})
		if took := time.Since(start); took > db.opts.Grace+reaction {
			t.Errorf("took %s", took)
		}
		if err != nil && asError(t, err).Code == CodeInternal {
			t.Errorf("internal: %v", err)
		}
		if err := checkAlive(db); err != nil {
			t.Error(err)
		}
		if runs++; runs%50 != 0 {
			return
		}
		if after := state(t, db); after != before {
			t.Errorf("the database has changed\nbefore %s\nafter  %s", before, after)
		}
	})
}

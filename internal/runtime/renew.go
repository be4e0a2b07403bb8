package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// This file fills a DuckDB that replaces another one, in which an internal error ended all
// statements. The load that follows creates everything that is served in it, as the first
// load did; only what is in files, or in Go, is still there.

// triggerLost is the trigger of loads after DuckDB was lost. A load of another trigger
// replaces it, too, if it is the first one.
const triggerLost = "lost"

// renewPause is how long after a load that failed without a generation the next one begins.
const renewPause = time.Second

// renew opens DuckDB again, with the runtime's own tables and the data of what is served.
func (l *loader) renew(ctx context.Context) error {
	l.log.Error("DuckDB failed with an internal error and is opened again; statements wait")
	if err := l.db.renew(ctx); err != nil {
		return fmt.Errorf("open DuckDB again: %w", err)
	}
	datasets.Restore(ctx, l.data)
	l.results.Restore(ctx)
	return nil
}

// renew is [engine.DB.Renew] with the runtime's own objects.
func (db *database) renew(ctx context.Context) error {
	<-db.made
	db.publishing.Lock()
	defer db.publishing.Unlock()
	db.setupErr = db.Renew(ctx, engine.NewCatalog(engine.Contents{Unserved: notLoaded}), db.setup)
	return db.setupErr
}

package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// copied is a dataset that is copied into an acceleration, and what DuckDB copies.
type copied struct {
	what   string
	entry  string // of the Spicepod, without a name
	theirs string
}

// copies measures loads of accelerated datasets, with the start of spiced, and, in turns,
// CREATE TABLE AS of DuckDB in this process. runtime is YAML.
func (e *env) copies(ctx context.Context, peer *sql.DB, runtime string, list []copied) (rows []row, err error) {
	for _, c := range list {
		dir, err := os.MkdirTemp(e.dir, "copy")
		if err != nil {
			return nil, err
		}
		if err := writeDatasets(dir, runtime+"datasets: [{ name: d, "+c.entry+", acceleration: { mode: file } }]\n"); err != nil {
			return nil, err
		}
		var took time.Duration
		var grown int64
		n := 0
		ratio, _, err := inTurns(2, func() error {
			_, err := peer.ExecContext(ctx, "CREATE OR REPLACE TABLE copied AS FROM "+c.theirs+"; CHECKPOINT")
			return err
		}, func() (err error) {
			n++
			took, grown, err = e.loadOf(ctx, "d", dir, "--state-dir", filepath.Join(dir, fmt.Sprint("state", n)))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		rows = append(rows, row{
			c.what + " copied into an acceleration, start of spiced included : CREATE TABLE AS, speed",
			fmt.Sprintf("%.2f (%.1f s, memory over idle %d MB)", ratio, took.Seconds(), grown>>20), "≥ 0.95",
		})
	}
	return rows, nil
}

// writeDatasets writes a Spicepod that uses DuckDB's extensions. text is what follows the
// settings of the runtime: more of them, and datasets.
func writeDatasets(dir, text string) error {
	text = fmt.Sprintf("version: v1\nkind: Spicepod\nname: datasets\nruntime:\n%s  extensions: { directory: %q }\n%s", usual, os.Getenv(extensionsVariable), text)
	return os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(text), 0o600)
}

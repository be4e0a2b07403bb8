package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/spiced-sql/spiced/internal/data/load"
)

// reportEvery is the time between the lines about a long load where there is no terminal.
const reportEvery = 10 * time.Second

// progress shows long loads on one line of a terminal. Without a terminal it writes a
// line every 10 s, to log or, if that is nil, to w.
func progress(w io.Writer, log *slog.Logger) func(load.Progress) {
	var mu sync.Mutex
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return func(p load.Progress) {
			mu.Lock()
			defer mu.Unlock()
			line := "\r\x1b[K"
			if !p.Done {
				line += progressLine(p)
			}
			fmt.Fprint(w, line)
		}
	}
	reported := map[[2]string]time.Duration{} // by dataset and step
	return func(p load.Progress) {
		mu.Lock()
		defer mu.Unlock()
		key := [2]string{p.Dataset, p.Step}
		switch {
		case p.Done:
			delete(reported, key)
		case p.Elapsed-reported[key] >= reportEvery:
			reported[key] = p.Elapsed
			if log == nil {
				fmt.Fprintln(w, progressLine(p))
				return
			}
			log.Info("dataset is loading", "dataset", p.Dataset, "step", p.Step, "took", p.Elapsed, "percent", p.Percent,
				"bytes", p.Bytes, "total", p.Total)
		}
	}
}

// progressLine describes a running load.
func progressLine(p load.Progress) string {
	line := fmt.Sprintf("dataset %s: %s, %s", p.Dataset, p.Step, p.Elapsed.Round(100*time.Millisecond))
	switch {
	case p.Percent >= 0 && p.Total > 0:
		line += fmt.Sprintf(", %d %% of %s", p.Percent, megabytes(p.Total))
	case p.Percent >= 0:
		line += fmt.Sprintf(", %d %%", p.Percent)
	case p.Total > 0 || p.Bytes > 0:
		line += ", " + megabytes(max(p.Total, p.Bytes))
	}
	return line
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/spiced-sql/spiced/internal/data/load"
)

// progress shows long loads on one line of a terminal. Without a terminal it is
// nil, because the log has them.
func progress(w io.Writer) func(load.Progress) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	var mu sync.Mutex
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

func progressLine(p load.Progress) string {
	line := fmt.Sprintf("dataset %s: %s, %s", p.Dataset, p.Step, p.Elapsed.Round(100*time.Millisecond))
	switch {
	case p.Total > 0:
		line += fmt.Sprintf(", %d %% of %d MB", 100*p.Bytes/p.Total, p.Total>>20)
	case p.Bytes > 0:
		line += fmt.Sprintf(", %d MB", p.Bytes>>20)
	}
	return line
}

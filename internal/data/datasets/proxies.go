package datasets

import (
	"fmt"
	"log/slog"

	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Proxies are the proxies that DuckDB attaches before it is locked. They must be made before
// DuckDB is opened, and closed after it.
type Proxies struct {
	log   *slog.Logger
	kinds source.Kinds
	of    map[string]source.Proxy // by extension
}

// NewProxies returns none: [Proxies.Attach] makes them.
func NewProxies(kinds source.Kinds, log *slog.Logger) *Proxies {
	return &Proxies{log, kinds, map[string]source.Proxy{}}
}

// Attach returns the extension with what attaches the proxy that it reads, if its connector
// has one.
func (p *Proxies) Attach(e engine.Extension) (engine.Extension, error) {
	for _, k := range p.kinds {
		if k.Proxy == nil || k.Extension != e.Name {
			continue
		}
		made, err := k.Proxy(p.log)
		if err != nil {
			return e, fmt.Errorf("make a socket for DuckDB: %w", err)
		}
		p.of[e.Name] = made
		return made.Extension(e), nil
	}
	return e, nil
}

// Interrupt interrupts what a statement waits for: it is [engine.Options.Interrupted].
func (p *Proxies) Interrupt(label string) {
	for _, made := range p.of {
		made.Interrupt(label)
	}
}

// Close ends the connections of all proxies.
func (p *Proxies) Close() {
	for _, made := range p.of {
		made.Close()
	}
}

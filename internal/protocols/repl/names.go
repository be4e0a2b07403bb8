package repl

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// nameSet holds the names for completion. It is immutable.
type nameSet struct {
	tables    []string
	columns   map[string][]string // by table
	functions []string
}

// names refreshes a nameSet in the background. One load runs at a time;
// completion waits briefly for it and then uses the names it has.
type names struct {
	load   func() *nameSet // ends once cancel is called
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	set     *nameSet
	loaded  time.Time     // time of the last load; zero: none, or of an older generation
	loading chan struct{} // closed when the running load ends; nil if none runs
	version string        // the last generation seen
}

func newNames(ctx context.Context, c *client) *names {
	ctx, cancel := context.WithCancel(ctx)
	own := *c
	own.seen = nil // these requests do not report generations
	n := &names{load: func() *nameSet { return own.names(ctx) }, cancel: cancel, set: &nameSet{}}
	n.refresh()
	return n
}

// generation records the generation that answered a statement.
func (n *names) generation(version string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if version != n.version {
		n.version, n.loaded = version, time.Time{}
	}
}

// now returns the names, refreshed if they are old and the server responds in
// time.
func (n *names) now() *nameSet {
	if loading := n.refresh(); loading != nil {
		timeout := time.NewTimer(namesWait)
		defer timeout.Stop()
		select {
		case <-loading:
		case <-timeout.C:
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.set
}

// refresh starts a load if the names are old. It returns a channel that is
// closed when the running load ends, nil if none runs.
func (n *names) refresh() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.loading != nil {
		return n.loading
	}
	if time.Since(n.loaded) < namesAge {
		return nil
	}
	done := make(chan struct{})
	n.loading = done
	n.work.Go(func() {
		set := n.load()
		n.mu.Lock()
		defer n.mu.Unlock()
		n.set, n.loaded, n.loading = set, time.Now(), nil
		close(done)
	})
	return done
}

// close cancels a running load and waits for it.
func (n *names) close() {
	n.cancel()
	n.work.Wait()
}

// names requests all names. Names that fail to load are missing: completion
// reports no errors.
func (c *client) names(ctx context.Context) *nameSet {
	set := &nameSet{columns: map[string][]string{}}
	type row struct{ Schema, Dataset, Name string }
	ask := func(sql string, add func(row)) {
		_ = c.rows(ctx, sql, maxNames, func(line []byte) error {
			var r row
			err := json.Unmarshal(line, &r)
			if err == nil {
				add(r)
			}
			return err
		})
	}
	ask(tableNamesSQL, func(r row) { set.tables = append(set.tables, qualifiedName(r.Schema, r.Name)) })
	ask(columnNamesSQL, func(r row) { set.columns[r.Dataset] = append(set.columns[r.Dataset], r.Name) })
	ask(functionNamesSQL, func(r row) { set.functions = append(set.functions, r.Name) })
	return set
}

// publicSchema is the schema of unqualified names.
const publicSchema = "public"

// qualifiedName is the shortest unambiguous name of a table.
func qualifiedName(schema, name string) string {
	if schema == "" || schema == publicSchema {
		return name
	}
	return schema + "." + name
}

package repl

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// nameSet is what completion offers. It is immutable.
type nameSet struct {
	tables    []string
	columns   map[string][]string // by table
	functions []string
}

// names keeps a nameSet fresh in the background. One load runs at a time; who
// needs the names waits a moment for it and then takes what there is.
type names struct {
	load   func() *nameSet // gives up once cancel was called
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	set     *nameSet
	loaded  time.Time     // of the last load; zero: none, or of an older generation
	loading chan struct{} // closed when the running load ends; nil: none runs
	version string        // of the last generation seen
}

func newNames(ctx context.Context, c *client) *names {
	ctx, cancel := context.WithCancel(ctx)
	own := *c
	own.seen = nil // what we ask for ourselves is no news
	n := &names{load: func() *nameSet { return own.names(ctx) }, cancel: cancel, set: &nameSet{}}
	n.refresh()
	return n
}

// generation takes note of the generation that answered a statement.
func (n *names) generation(version string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if version != n.version {
		n.version, n.loaded = version, time.Time{}
	}
}

// now returns the names, refreshed when they are old and the server is quick.
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

// refresh starts a load when the names are old. It returns a channel that is
// closed when the load that runs has ended, nil when none runs.
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

// close ends a load that runs and waits for it.
func (n *names) close() {
	n.cancel()
	n.work.Wait()
}

// names asks the server for every name. What it cannot learn stays empty: a
// completion that lacks names is no reason to disturb anybody.
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

// publicSchema is the schema of names without one.
const publicSchema = "public"

// qualifiedName is the shortest name of a table that works.
func qualifiedName(schema, name string) string {
	if schema == "" || schema == publicSchema {
		return name
	}
	return schema + "." + name
}

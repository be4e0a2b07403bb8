package datasets

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// A catalog is listed in the background: at once, at its interval, and for a reload. Its
// tables become datasets that are not opened: their columns are those that the server says,
// and the first statement that reads one opens it. A server of thousands of tables costs one
// question, and those that no one reads cost no more.

const (
	listTime       = 30 * time.Second
	catalogColumns = 500_000 // of all tables of a catalog
)

// catalogs lists the catalogs of the Spicepod.
type catalogs struct {
	opts       Options
	connectors map[string]source.Connector

	mu     sync.Mutex
	byName map[string]*catalog // those that the last Prepare found declared
	closed bool
	done   sync.WaitGroup
}

// catalog is a declared catalog. The mutex of catalogs guards it.
type catalog struct {
	hash    string
	wake    chan struct{}
	cancel  context.CancelFunc
	asked   chan struct{} // closed when the listing has ended that was asked for last
	queued  chan struct{} // asked until that listing begins, then nil
	waiting bool          // a Prepare waits for it

	listing *source.Listing // nil before the first
	err     error           // of the last listing
	tries   int             // consecutive failures
	state   string          // fingerprint of listing and err
	taken   string          // the state that the last Prepare used
}

// list runs the listings of a catalog until ctx ends.
func (cs *catalogs) list(ctx context.Context, c *catalog, every time.Duration,
	ask func(context.Context) (*source.Listing, error),
) {
	for {
		cs.mu.Lock()
		done := c.queued
		c.queued = nil
		cs.mu.Unlock()
		limited, cancel := context.WithTimeout(ctx, listTime)
		l, err := ask(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		cs.mu.Lock()
		pause := every
		if c.tries++; err != nil {
			pause = min(every, refresh.Backoff(c.tries))
			c.err = err
		} else {
			c.listing, c.err, c.tries = l, nil, 0
		}
		c.state = spicepod.Fingerprint([]any{c.listing, fmt.Sprint(c.err)})
		changed := !c.waiting && c.state != c.taken
		cs.mu.Unlock()
		if done != nil {
			close(done)
		}
		if changed && cs.opts.Loaded != nil {
			cs.opts.Loaded()
		}
		select {
		case <-cs.opts.Clock.After(pause):
		case <-c.wake:
		case <-ctx.Done():
			return
		}
	}
}

// ask returns the function that lists the tables of a catalog.
func (cs *catalogs) ask(pod *spicepod.Pod, i int) (func(context.Context) (*source.Listing, error), error) {
	decl := pod.Catalogs[i]
	name, target := cs.opts.Connectors.CatalogOf(decl.From)
	lister, ok := cs.connectors[name].(source.Lister)
	if !ok {
		var have []string
		for _, k := range cs.opts.Connectors {
			if k.Catalog != "" {
				have = append(have, k.Names[0])
			}
		}
		shown := decl.From.String()
		if !decl.From.Secret() {
			shown = name
		}
		return nil, fault.New("from", "there are catalogs of "+strings.Join(have, ", "),
			"connector %q has no catalogs in this build", shown)
	}
	include, err := source.ParsePatterns(decl.Include)
	if err == nil && decl.Access == spicepod.AccessReadWrite {
		err = checkWritten(cs.opts.Connectors.Of(name), name, decl.Acceleration != nil && decl.Acceleration.Enabled)
	}
	if err != nil {
		return nil, err
	}
	d := source.Declaration{
		Name: decl.Name, Params: decl.Params.With(decl.DatasetParams),
		From: source.From{
			Connector: name, Target: target, Shown: decl.From.String(),
			Dir: dirOf(pod, fmt.Sprintf("catalogs[%d]", i)), Within: pod.DependencyDir(fmt.Sprintf("catalogs[%d]", i)),
		},
	}
	redact := source.Redaction(decl.From, d.Params)
	most := cs.opts.Limits.Tables
	return func(ctx context.Context) (*source.Listing, error) {
		l, err := lister.List(ctx, d, source.ListOptions{Include: include, Tables: most, Columns: catalogColumns})
		switch {
		case err == nil && len(l.Tables) > most:
			return nil, fault.New("include", "name fewer, for example public.*", "the catalog has more than %d tables", most)
		case errors.Is(err, context.DeadlineExceeded):
			return nil, fault.New("from", "", "the server has not listed its tables within %s", listTime).Retryable()
		case err != nil:
			return nil, fault.Of(err).Redacted(redact)
		}
		return l, nil
	}, nil
}

// dirOf returns the folder of the file that declares what is at a path.
func dirOf(pod *spicepod.Pod, path string) string {
	file := pod.At(path + ".from").File
	if !filepath.IsAbs(file) {
		file = filepath.Join(pod.Dir, file)
	}
	return filepath.Dir(file)
}

// listed are the catalogs of a Spicepod as a Prepare found them.
type listed struct {
	pod       *spicepod.Pod        // with the tables as datasets
	tables    []source.ListedTable // those of the last datasets of pod
	mentioned map[string]bool      // see mentionedIn
	problems  spicepod.Problems
	unserved  []CatalogState
}

// table returns the table of a catalog that dataset i is; nil if it is declared.
func (l *listed) table(i int) *source.ListedTable {
	if i -= len(l.pod.Datasets) - len(l.tables); i < 0 {
		return nil
	}
	return &l.tables[i]
}

// CatalogState says why the tables of a catalog are not served.
type CatalogState struct {
	Name    string
	Loading bool // it is being listed for the first time; else it has a fault
}

// prepare lists the catalogs of a Spicepod, or uses the last listing of one that does
// not answer soon enough.
func (cs *catalogs) prepare(ctx context.Context, r Request) (out listed) {
	out.pod = r.Pod
	if len(r.Pod.Catalogs) == 0 && len(cs.byName) == 0 {
		return out
	}
	now := make([]*catalog, len(r.Pod.Catalogs))
	fail := func(i int, err error) {
		path, name := fmt.Sprintf("catalogs[%d]", i), r.Pod.Catalogs[i].Name
		f := fault.Of(err)
		out.problems = append(out.problems, f.Problem(r.Pod, path, "catalog "+name))
		if !f.Warning {
			out.unserved = append(out.unserved, CatalogState{Name: name})
		}
	}
	cs.declare(r, now, fail)
	cs.await(ctx, r, now)
	var all []spicepod.CatalogTable
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for i, c := range now {
		if c == nil {
			continue
		}
		c.waiting, c.taken = false, c.state
		switch {
		case c.err != nil && c.listing == nil:
			fail(i, c.err)
			continue
		case c.err != nil:
			f := *fault.Of(c.err)
			f.Warning, f.Message = true, "its tables may have changed since it was last listed: "+f.Message
			fail(i, &f)
		case c.listing == nil:
			out.unserved = append(out.unserved, CatalogState{r.Pod.Catalogs[i].Name, true})
			continue
		}
		include, _ := source.ParsePatterns(r.Pod.Catalogs[i].Include)
		for _, err := range include.Unmatched(c.listing) {
			fail(i, err)
		}
		for _, t := range c.listing.Tables {
			out.tables = append(out.tables, t)
			all = append(all, spicepod.CatalogTable{Catalog: i, Dataset: cs.datasetOf(r.Pod.Catalogs[i], t)})
		}
	}
	out.pod, out.mentioned = r.Pod.WithTables(all), mentionedIn(r.Pod)
	return out
}

// declare makes these the catalogs that are listed, and asks for listings unless only
// loads have ended. Each catalog has a goroutine that lists its tables, now and at its interval,
// until its declaration changes: so a catalog with an equal declaration keeps its goroutine,
// which is woken, and another one gets a new one. now[i] stays nil for one with a fault.
func (cs *catalogs) declare(r Request, now []*catalog, fail func(int, error)) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	next := map[string]*catalog{}
	for i, decl := range r.Pod.Catalogs {
		path := fmt.Sprintf("catalogs[%d]", i)
		unset := r.Pod.Unset(path)
		for _, u := range unset {
			_, below, _ := strings.Cut(u.Path, ".")
			fail(i, fault.At(below, u.Offset, u.Hint, "%s", u.Message))
		}
		if len(unset) > 0 {
			continue
		}
		ask, err := cs.ask(r.Pod, i)
		if err != nil {
			fail(i, err)
			continue
		}
		hash := spicepod.Fingerprint([]any{decl, dirOf(r.Pod, path)})
		c := cs.byName[decl.Name]
		if c == nil || c.hash != hash {
			ctx, cancel := context.WithCancel(context.Background())
			c = &catalog{hash: hash, wake: make(chan struct{}, 1), cancel: cancel, asked: make(chan struct{})}
			c.queued = c.asked
			if !cs.closed {
				cs.done.Go(func() { cs.list(ctx, c, decl.RefreshCheckInterval, ask) })
			}
		} else if !r.Loaded && c.queued == nil {
			c.asked = make(chan struct{})
			c.queued = c.asked
			select {
			case c.wake <- struct{}{}:
			default: // it has been woken already
			}
		}
		next[decl.Name], now[i] = c, c
	}
	for name, c := range cs.byName {
		if next[name] != c {
			c.cancel()
		}
	}
	cs.byName = next
}

// await waits for the listings that were asked for.
func (cs *catalogs) await(ctx context.Context, r Request, now []*catalog) {
	for _, c := range now {
		if c == nil {
			continue
		}
		cs.mu.Lock()
		asked := c.asked
		c.waiting = true
		cs.mu.Unlock()
		if r.Loaded {
			continue
		}
		select {
		case <-asked:
		case <-r.Enough:
		case <-ctx.Done():
		}
	}
}

// close ends the listings.
func (cs *catalogs) close() {
	cs.mu.Lock()
	cs.closed = true
	for _, c := range cs.byName {
		c.cancel()
	}
	cs.mu.Unlock()
	cs.done.Wait()
}

// datasetOf declares a table of a catalog.
func (cs *catalogs) datasetOf(c spicepod.Catalog, t source.ListedTable) spicepod.Dataset {
	d := spicepod.Dataset{
		From: spicepod.Text{Raw: t.From}, Name: quoted(c.Name) + "." + quoted(sqltree.Fold(t.Schema)) + "." + quoted(t.Name),
		Access: c.Access, ReadyState: spicepod.ReadyOnLoad, Params: c.Params.With(c.DatasetParams).With(t.Params),
		Metadata:     c.Metadata,
		Acceleration: c.Acceleration,
	}
	if name, _ := cs.opts.Connectors.CatalogOf(c.From); d.Acceleration == nil && cs.opts.Connectors.Of(name).Copied {
		d.Acceleration = &spicepod.Acceleration{
			Enabled: true, Engine: spicepod.EngineDuckDB, Mode: spicepod.ModeMemory, RefreshMode: spicepod.RefreshFull,
			RefreshRetryEnabled: true, RefreshOnStartup: spicepod.RefreshAuto,
		}
	}
	return d
}

// plain matches a part of a name that needs no quotes.
var plain = regexp.MustCompile(`^[\p{Ll}_][\p{Ll}\p{N}_]*$`)

// quoted writes a part of a name, in quotes if it needs them.
func quoted(part string) string {
	if plain.MatchString(part) {
		return part
	}
	return engine.Identifier(part)
}

// mentionedIn returns the folded names in the texts of views and functions: tables of
// catalogs that these may read are opened before they are created.
func mentionedIn(pod *spicepod.Pod) map[string]bool {
	names := map[string]bool{}
	add := func(sql string) {
		for _, t := range sqltree.Scan(sql) {
			switch t.Kind {
			case sqltree.Ident, sqltree.QuotedIdent:
				names[sqltree.Fold(t.Name(sql))] = true
			case sqltree.String: // the name of a table as an argument
				for part := range strings.SplitSeq(strings.Trim(t.Text(sql), "'"), ".") {
					names[sqltree.Fold(part)] = true
				}
			}
		}
	}
	for _, v := range pod.Views {
		add(v.SQL)
	}
	for _, f := range pod.Functions {
		add(f.Body)
	}
	return names
}

// unopened returns the version of a table of a catalog that is not opened.
func (m *Manager) unopened(d *Dataset) *tables.Version {
	v := tables.Unopened(d.listed.Columns, "")
	v.Files = d.Acceleration == nil && !m.kind(d).Locked
	if c, ok := d.source.(source.Changer); ok && d.Acceleration == nil {
		v.Changing = c.Changing()
	}
	v.Annotate(tables.Comments{Table: d.listed.Comment})
	return v
}

// Open returns what opens the datasets that a statement names that are served and not open,
// and what waits for the answers that it asks for; nil if there are none.
func (m *Manager) Open(of engine.Reading) func(context.Context) error {
	var closed []*Dataset
	m.mu.Lock()
	for _, r := range of.Relations {
		if d := m.liveDataset(tables.Key(r)); d != nil && d.Current().Unopened {
			closed = append(closed, d)
		}
	}
	m.mu.Unlock()
	if closed == nil {
		return ask(m, of.Asked, of.Again)
	}
	return func(ctx context.Context) error {
		for _, d := range closed {
			if err := m.refreshes.Open(ctx, d.Relation); err != nil {
				f := d.redacted(err)
				return engine.NewError(errcode.Execution, f.Hint, "dataset %q cannot be read: %s", d.Name,
					fault.WithoutRoots(f.Message, m.opts.Roots))
			}
		}
		return nil
	}
}

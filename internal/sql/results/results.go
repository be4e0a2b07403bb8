// Package results stores results that are too large to return at once. Each is a
// table in a separate DuckDB file, for a limited time. The owner reads it in SQL by
// name: FROM ref('r_…').
//
//	store, err := results.New(results.Options{DB: db, Dir: dir, Limits: pod.Runtime.Results})
//	defer store.Close()
//	w, err := store.Create(ctx, owner, rows.Columns())
//	defer w.Abort()
//	for chunk, err := range rows.Chunks() { err = w.Append(chunk) … }
//	result, err := w.Close()
//
// A name cannot be guessed and is of use only to the owner: the error is the same
// for another owner's result, an expired one and one that never existed.
//
// Stored results are limited in time, number and space. If there are too many, the
// oldest are dropped first, but never one that a statement reads. None outlives the
// process: New removes the files of earlier runs.
package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// DB makes and reads the tables of stored results. [*engine.DB] implements it.
type DB interface {
	CreateTable(ctx context.Context, t engine.Table, columns []engine.Column) (*engine.TableWriter, error)
	DropTable(t engine.Table)
	RestoreTable(ctx context.Context, t engine.Table) error
	UseRefs(r engine.Refs)
	Query(ctx context.Context, req engine.Request) (*engine.Rows, error)
}

var _ DB = (*engine.DB)(nil)

// Options configures [New]. DB and Dir are required.
type Options struct {
	DB     DB
	Dir    string           // of the files; New makes it. The database must be allowed to access it
	Limits spicepod.Results // zero fields take the defaults
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: nothing is logged
}

// Result is a stored result.
type Result struct {
	Name    string
	Owner   string
	Columns []engine.Column // of the table: the names are unique
	Rows    int64
	Bytes   int64 // of the rows, as DuckDB holds them
	Created time.Time
	Expires time.Time
}

// Store stores results. It is safe for concurrent use. Close it.
type Store struct {
	opts Options
	quit chan struct{} // closed to end expire
	done chan struct{} // closed when expire returns

	mu     sync.Mutex
	closed bool
	names  map[string]*stored
	oldest []*stored      // the same results, oldest first
	open   map[string]int // number of results being written, by owner
	opened int            // the sum of open
	space  int64          // bytes of all files, including those being written or about to be dropped
}

var _ engine.Refs = (*Store)(nil)

// stored is a result with its table.
type stored struct {
	Result
	table   engine.Table
	space   int64 // bytes of the file
	readers int   // statements that read it
	gone    bool  // removed; the last reader drops it
}

// New makes a store in its folder, which it creates and clears of the files of
// earlier runs. From then on, statements of the database read its results.
func New(opts Options) (*Store, error) {
	opts.Limits = withDefaults(opts.Limits)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("prepare the results folder: %w", err)
	}
	opts.Dir = dir
	if err := clearDir(dir); err != nil {
		opts.Log.Warn("cannot remove results of earlier runs", "error", err)
	}
	s := &Store{
		opts: opts, quit: make(chan struct{}), done: make(chan struct{}),
		names: map[string]*stored{}, open: map[string]int{},
	}
	go s.expire()
	opts.DB.UseRefs(s)
	return s, nil
}

func withDefaults(l spicepod.Results) spicepod.Results {
	d := spicepod.Defaults[spicepod.Results]()
	l.TTL = cmp.Or(l.TTL, d.TTL)
	l.MaxBytes = cmp.Or(l.MaxBytes, d.MaxBytes)
	l.MaxResult = cmp.Or(l.MaxResult, d.MaxResult)
	l.MaxResults = cmp.Or(l.MaxResults, d.MaxResults)
	l.MaxPerUser = cmp.Or(l.MaxPerUser, d.MaxPerUser)
	return l
}

// The names of results and of their files.
const (
	namePrefix = "r_"
	fileSuffix = ".duckdb"
)

// clearDir makes the folder, if it does not exist, and removes files of results. The
// error is the last one.
func clearDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), namePrefix) || !strings.Contains(e.Name(), fileSuffix) {
			continue
		}
		if failed := os.RemoveAll(filepath.Join(dir, e.Name())); failed != nil && !errors.Is(failed, os.ErrNotExist) {
			err = failed
		}
	}
	return err
}

// Close drops every result. Results that statements read are dropped when these end,
// and open writers can only be aborted.
func (s *Store) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	tables := s.removeIf(func(*stored) bool { return true })
	s.mu.Unlock()
	close(s.quit)
	<-s.done
	s.drop(tables)
}

// notFound is the only error for a name without a result for the caller.
func notFound(name string) *engine.Error {
	return engine.NewError(errcode.NotFound,
		"a result is available to its owner until it expires; run the statement again",
		"there is no result %q", truncate.Ellipsis(name, 40))
}

// Ref finds the result that a statement reads. See [engine.Refs].
func (s *Store) Ref(ctx context.Context, name string) (engine.Table, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.find(caller.From(ctx).Owner(), name)
	if err != nil {
		return engine.Table{}, nil, err
	}
	k.readers++
	return k.table, sync.OnceFunc(func() { s.release(k) }), nil
}

// release ends a statement's use of k.
func (s *Store) release(k *stored) {
	s.mu.Lock()
	k.readers--
	last := k.gone && k.readers == 0
	if last {
		s.space -= k.space
	}
	s.mu.Unlock()
	if last {
		s.opts.DB.DropTable(k.table)
	}
}

// find returns the owner's result of that name.
func (s *Store) find(owner, name string) (*stored, error) {
	k := s.names[name]
	if k == nil || k.Owner != owner || !s.opts.Now().Before(k.Expires) {
		return nil, notFound(name)
	}
	return k, nil
}

// Get returns the owner's result of that name. The error is an [*engine.Error]
// with [errcode.NotFound].
func (s *Store) Get(owner, name string) (*Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.find(owner, name)
	if err != nil {
		return nil, err
	}
	r := k.Result
	return &r, nil
}

// List returns the owner's results, the oldest first.
func (s *Store) List(owner string) []*Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Result
	for _, k := range s.oldest {
		if found, _ := s.find(owner, k.Name); found != nil {
			r := k.Result
			list = append(list, &r)
		}
	}
	return list
}

// Delete drops the owner's result of that name. The error is that of Get.
func (s *Store) Delete(owner, name string) error {
	s.mu.Lock()
	k, err := s.find(owner, name)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	tables := s.removeIf(func(other *stored) bool { return other == k })
	s.mu.Unlock()
	s.drop(tables)
	return nil
}

// removeIf removes the results for which is holds from the index. It returns the
// tables without readers, to be dropped without the lock.
func (s *Store) removeIf(is func(*stored) bool) []engine.Table {
	var tables []engine.Table
	s.oldest = slices.DeleteFunc(s.oldest, func(k *stored) bool {
		if !is(k) {
			return false
		}
		k.gone = true
		delete(s.names, k.Name)
		if k.readers == 0 {
			s.space -= k.space
			tables = append(tables, k.table)
		}
		return true
	})
	return tables
}

// Restore makes the results readable again after DuckDB was opened again: see
// [engine.DB.Renew].
func (s *Store) Restore(ctx context.Context) {
	s.mu.Lock()
	all := slices.Clone(s.oldest)
	s.mu.Unlock()
	for _, k := range all {
		if err := s.opts.DB.RestoreTable(ctx, k.table); err != nil {
			s.opts.Log.Error("a stored result is lost", "result", k.Name, "error", err)
		}
	}
}

func (s *Store) drop(tables []engine.Table) {
	for _, t := range tables {
		s.opts.DB.DropTable(t)
	}
}

// expire drops expired results until Close.
func (s *Store) expire() {
	defer close(s.done)
	timer := time.NewTimer(s.opts.Limits.TTL)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.quit:
			return
		}
		timer.Reset(s.dropExpired())
	}
}

// dropExpired drops expired results and returns the time until the next ones expire,
// at most the TTL of new results.
func (s *Store) dropExpired() time.Duration {
	now, next := s.opts.Now(), s.opts.Limits.TTL
	s.mu.Lock()
	tables := s.removeIf(func(k *stored) bool { return !now.Before(k.Expires) })
	if len(s.oldest) > 0 {
		next = min(next, s.oldest[0].Expires.Sub(now))
	}
	s.mu.Unlock()
	s.drop(tables)
	return next
}

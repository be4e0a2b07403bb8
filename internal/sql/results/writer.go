package results

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Writer fills a result. It is used by one goroutine. Close or Abort it; Abort after
// Close does nothing.
type Writer struct {
	store *Store
	k     *stored
	table *engine.TableWriter // nil after Close or Abort
}

// Create begins a result of the owner. The error is an [*engine.Error]: [errcode.Busy] if
// too many are being written or read.
func (s *Store) Create(ctx context.Context, owner string, columns []engine.Column) (*Writer, error) {
	if err := s.begin(owner); err != nil {
		return nil, err
	}
	name := newName()
	k := &stored{
		Result: Result{Name: name, Owner: owner, Columns: tableColumns(columns)},
		table:  engine.Table{Database: name, Path: filepath.Join(s.opts.Dir, name+fileSuffix)},
	}
	w := &Writer{store: s, k: k}
	var err error
	if w.table, err = s.opts.DB.CreateTable(ctx, k.table, k.Columns); err != nil {
		s.end(k)
		return nil, writeError(err)
	}
	return w, nil
}

// newName returns a name that cannot be guessed: it has at least 128 random bits.
func newName() string { return namePrefix + strings.ToLower(rand.Text()) }

// tableColumns returns the columns of the table that stores a result: repeated and
// empty names get a number, and a column of only NULL gets a type.
func tableColumns(columns []engine.Column) []engine.Column {
	list, names := make([]engine.Column, len(columns)), unique{}
	for i, c := range columns {
		list[i] = engine.Column{Name: names.add(c.Name), Type: tableType(c.Type)}
		if c.Type.ID == engine.Null {
			list[i].Type = &engine.Type{ID: engine.Integer}
		}
	}
	return list
}

// tableType returns t as the type of a table's column: the members of row(…) get the
// names v1, v2 and so on.
func tableType(t *engine.Type) *engine.Type {
	out, names := *t, unique{}
	if t.Elem != nil {
		out.Elem = tableType(t.Elem)
	}
	out.Fields = nil
	for i, f := range t.Fields {
		name := cmp.Or(f.Name, fmt.Sprintf("v%d", i+1))
		out.Fields = append(out.Fields, engine.Field{Name: names.add(name), Type: tableType(f.Type)})
	}
	return &out
}

// unique is a set of folded names.
type unique map[string]bool

// add returns the name, with a number appended if it is empty or already used.
func (u unique) add(name string) string {
	out := name
	for n := 1; out == "" || u[sqltree.Fold(out)]; n++ {
		out = fmt.Sprintf("%s_%d", name, n)
	}
	u[sqltree.Fold(out)] = true
	return out
}

// writeError converts a failure to write the table to an [*engine.Error].
func writeError(err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return engine.AsError(context.Canceled)
	}
	return engine.NewError(errcode.Execution, "cast columns of unusual types to VARCHAR", "%s", err)
}

// begin reserves a slot for one more result of the owner.
func (s *Store) begin(owner string) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return engine.ErrClosing
	}
	own := func(k *stored) bool { return k.Owner == owner }
	first, ok := s.makeRoom(own, func() bool { return s.count(owner) >= s.opts.Limits.MaxPerUser })
	more, fits := s.makeRoom(anyOwner, func() bool { return len(s.oldest)+s.opened >= s.opts.Limits.MaxResults })
	if ok = ok && fits; ok {
		s.open[owner]++
		s.opened++
	}
	s.mu.Unlock()
	s.drop(append(first, more...))
	if !ok {
		return engine.NewError(errcode.Busy, "try again in a moment",
			"no further result can be stored: all slots are being written or read")
	}
	return nil
}

func anyOwner(*stored) bool { return true }

// count returns the number of the owner's results, including those being written.
func (s *Store) count(owner string) int {
	n := s.open[owner]
	for _, k := range s.oldest {
		if k.Owner == owner {
			n++
		}
	}
	return n
}

// makeRoom removes the oldest results for which is holds and which have no readers,
// as long as there are too many. It returns their tables, and whether that was
// enough.
func (s *Store) makeRoom(is func(*stored) bool, tooMany func() bool) (tables []engine.Table, ok bool) {
	for tooMany() {
		var victim *stored
		for _, k := range s.oldest {
			if k.readers == 0 && is(k) {
				victim = k
				break
			}
		}
		if victim == nil {
			return tables, false
		}
		s.opts.Log.Debug("removed a stored result to make room", "result", victim.Name, "bytes", victim.space)
		tables = append(tables, s.removeIf(func(k *stored) bool { return k == victim })...)
	}
	return tables, true
}

// end releases what begin and Append reserved.
func (s *Store) end(k *stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.space -= k.space
	s.leave(k.Owner)
}

// leave counts one writer less.
func (s *Store) leave(owner string) {
	s.opened--
	if s.open[owner]--; s.open[owner] == 0 {
		delete(s.open, owner)
	}
}

// valueSize is about what DuckDB takes for a text, list, array or struct itself: its
// slot in a vector, or the reference there to a longer one.
const valueSize = 8

// Append adds the rows of a chunk. The error is an [*engine.Error]: [errcode.Limit] if the
// result, or all results together, exceed their limit. Abort the writer then.
func (w *Writer) Append(chunk *engine.Chunk) error {
	size, limit := chunk.Size(valueSize), int64(w.store.opts.Limits.MaxResult)
	if w.k.Bytes+size > limit {
		return engine.NewError(errcode.Limit, "select less, or raise runtime.results.max_result_bytes",
			"the result has more than %d bytes, the limit of a stored result", limit)
	}
	if err := w.store.take(w.k, size); err != nil {
		return err
	}
	if err := w.table.Append(chunk); err != nil {
		return writeError(err)
	}
	w.k.Bytes += size
	w.k.Rows += int64(chunk.Len())
	return nil
}

// take adds to, or subtracts from, the space of a result that is being written.
func (s *Store) take(k *stored, more int64) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return engine.ErrClosing
	}
	s.space += more
	k.space += more
	limit := int64(s.opts.Limits.MaxBytes)
	tables, ok := s.makeRoom(anyOwner, func() bool { return s.space > limit })
	s.mu.Unlock()
	s.drop(tables)
	if ok {
		return nil
	}
	return engine.NewError(errcode.Limit, "try again later, or raise runtime.results.max_bytes",
		"stored results are limited to %d bytes, and all of them are in use", limit)
}

// Close completes the result, which its owner can read from then on. After an error,
// which is an [*engine.Error], there is no result.
func (w *Writer) Close() (*Result, error) {
	table := w.table
	w.table = nil
	if err := table.Close(); err != nil { // it has dropped the table
		w.store.end(w.k)
		return nil, writeError(err)
	}
	if err := w.store.publish(w.k); err != nil {
		w.store.end(w.k)
		w.store.opts.DB.DropTable(w.k.table)
		return nil, err
	}
	r := w.k.Result
	return &r, nil
}

// publish makes a result with a complete table visible to its owner.
func (s *Store) publish(k *stored) error {
	if info, err := os.Stat(k.table.Path); err == nil {
		if err := s.take(k, info.Size()-k.space); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return engine.ErrClosing
	}
	k.Created = s.opts.Now()
	k.Expires = k.Created.Add(s.opts.Limits.TTL)
	s.names[k.Name] = k
	s.oldest = append(s.oldest, k)
	s.leave(k.Owner)
	return nil
}

// Abort discards a result that was not completed.
func (w *Writer) Abort() {
	if w.table == nil {
		return
	}
	w.table.Abort()
	w.table = nil
	w.store.end(w.k)
}

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

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Writer fills a result. It is used by one goroutine. Close or Abort it; to
// abort it after Close does nothing.
type Writer struct {
	store *Store
	k     *kept
	table *engine.TableWriter // nil after the end
}

// Create begins a result of the owner's. The error is an [*engine.Error]:
// CodeBusy when too many are written or read at once.
func (s *Store) Create(ctx context.Context, owner string, columns []engine.Column) (*Writer, error) {
	if err := s.begin(owner); err != nil {
		return nil, err
	}
	name := newName()
	k := &kept{
		Result: Result{Name: name, Owner: owner, Columns: tableColumns(columns)},
		table:  engine.Table{Database: name, Path: filepath.Join(s.opts.Dir, name+fileSuffix)},
	}
	w := &Writer{store: s, k: k}
	var err error
	if w.table, err = s.opts.DB.CreateTable(ctx, k.table, k.Columns); err != nil {
		s.end(k)
		return nil, cannotKeep(err)
	}
	return w, nil
}

// newName is a name that nobody can guess: it has 128 random bits and more.
func newName() string { return namePrefix + strings.ToLower(rand.Text()) }

// tableColumns are the columns of the table that holds a result: names that
// stand there twice, or are empty, get a number, and a column of nothing but
// NULL has a type.
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

// tableType is a type that a table may have: the members of row(…) get the
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

// unique are the names that there are already, folded.
type unique map[string]bool

// add returns the name, or with a number where it is there or is empty.
func (u unique) add(name string) string {
	out := name
	for n := 1; out == "" || u[sqltree.Fold(out)]; n++ {
		out = fmt.Sprintf("%s_%d", name, n)
	}
	u[sqltree.Fold(out)] = true
	return out
}

// cannotKeep is a failure to write the table, as an [*engine.Error].
func cannotKeep(err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return engine.AsError(context.Canceled)
	}
	return &engine.Error{
		Code: engine.CodeExecution, Offset: -1, Message: err.Error(),
		Hint: "cast columns of unusual types to VARCHAR",
	}
}

// begin makes room for one more result of the owner's.
func (s *Store) begin(owner string) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return &engine.Error{Code: engine.CodeCancelled, Offset: -1, Message: "the runtime is shutting down"}
	}
	mine := func(k *kept) bool { return k.Owner == owner }
	first, ok := s.makeRoom(mine, func() bool { return s.count(owner) >= s.opts.Limits.MaxPerUser })
	more, fits := s.makeRoom(anybody, func() bool { return len(s.oldest)+s.opened >= s.opts.Limits.MaxResults })
	if ok = ok && fits; ok {
		s.open[owner]++
		s.opened++
	}
	s.mu.Unlock()
	s.drop(append(first, more...))
	if !ok {
		return &engine.Error{
			Code: engine.CodeBusy, Offset: -1, Hint: "try again in a moment",
			Message: "no further result can be kept: all that there may be are being written or read",
		}
	}
	return nil
}

func anybody(*kept) bool { return true }

// count is how many results the owner has, also being written.
func (s *Store) count(owner string) int {
	n := s.open[owner]
	for _, k := range s.oldest {
		if k.Owner == owner {
			n++
		}
	}
	return n
}

// makeRoom takes away the oldest results for which is holds and which nobody
// reads, as long as there are too many. It returns their tables, and whether
// that was enough.
func (s *Store) makeRoom(is func(*kept) bool, tooMany func() bool) (tables []engine.Table, ok bool) {
	for tooMany() {
		var victim *kept
		for _, k := range s.oldest {
			if k.readers == 0 && is(k) {
				victim = k
				break
			}
		}
		if victim == nil {
			return tables, false
		}
		s.opts.Log.Debug("a kept result made room for another", "result", victim.Name, "bytes", victim.space)
		tables = append(tables, s.removeIf(func(k *kept) bool { return k == victim })...)
	}
	return tables, true
}

// end gives back what begin and Append have taken.
func (s *Store) end(k *kept) {
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

// Append adds the rows of a chunk. The error is an [*engine.Error]: CodeLimit
// when the result, or all results together, are over their limit. Abort the
// writer then.
func (w *Writer) Append(chunk *engine.Chunk) error {
	size, limit := chunkSize(chunk, len(w.k.Columns)), int64(w.store.opts.Limits.MaxResult)
	if w.k.Bytes+size > limit {
		return &engine.Error{
			Code: engine.CodeLimit, Offset: -1, Hint: "select less, or raise runtime.results.max_result_bytes",
			Message: fmt.Sprintf("the result has more than %d bytes, the limit of one that is kept", limit),
		}
	}
	if err := w.store.take(w.k, size); err != nil {
		return err
	}
	if err := w.table.Append(chunk); err != nil {
		return cannotKeep(err)
	}
	w.k.Bytes += size
	w.k.Rows += int64(chunk.Len())
	return nil
}

// take accounts for more space, or less, of a result that is being written.
func (s *Store) take(k *kept, more int64) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return &engine.Error{Code: engine.CodeCancelled, Offset: -1, Message: "the runtime is shutting down"}
	}
	s.space += more
	k.space += more
	limit := int64(s.opts.Limits.MaxBytes)
	tables, ok := s.makeRoom(anybody, func() bool { return s.space > limit })
	s.mu.Unlock()
	s.drop(tables)
	if ok {
		return nil
	}
	return &engine.Error{
		Code: engine.CodeLimit, Offset: -1, Hint: "try again later, or raise runtime.results.max_bytes",
		Message: fmt.Sprintf("no more than %d bytes of results are kept, and those that are there are in use", limit),
	}
}

// Close completes the result, which its owner can read from now on. After an
// error, which is an [*engine.Error], there is none.
func (w *Writer) Close() (*Result, error) {
	table := w.table
	w.table = nil
	if err := table.Close(); err != nil { // which has dropped it
		w.store.end(w.k)
		return nil, cannotKeep(err)
	}
	if err := w.store.publish(w.k); err != nil {
		w.store.end(w.k)
		w.store.opts.DB.DropTable(w.k.table)
		return nil, err
	}
	r := w.k.Result
	return &r, nil
}

// publish lets the owner find a result whose table is complete.
func (s *Store) publish(k *kept) error {
	if info, err := os.Stat(k.table.Path); err == nil {
		if err := s.take(k, info.Size()-k.space); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &engine.Error{Code: engine.CodeCancelled, Offset: -1, Message: "the runtime is shutting down"}
	}
	k.Created = s.opts.Now()
	k.Expires = k.Created.Add(s.opts.Limits.TTL)
	s.names[k.Name] = k
	s.oldest = append(s.oldest, k)
	s.leave(k.Owner)
	return nil
}

// Abort takes back a result that was not completed.
func (w *Writer) Abort() {
	if w.table == nil {
		return
	}
	w.table.Abort()
	w.table = nil
	w.store.end(w.k)
}

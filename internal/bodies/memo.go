package bodies

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Limits of what one statement remembers of the calls of a function. Beyond them, equal rows
// of one vector still share a call.
const (
	maxRemembered      = 100_000  // calls
	maxRememberedBytes = 64 << 20 // of arguments and values
)

// memo is what the calls of one function in one statement share.
type memo struct {
	mu      sync.Mutex
	id      string // of the function
	fresh   bool   // no value of another statement is used
	rows    int    // that it was called for
	calls   int
	bytes   int // of values
	flights []*flight
	known   rowTable
	values  []ref // of the known rows, by number
}

// flight is the calls for the new rows of one vector.
type flight struct {
	done   chan struct{} // closed when values or err is set
	values arrow.Array
	err    error
}

// ref is a value of a flight. Both are numbers: the garbage collector need not look at the
// values of many rows.
type ref struct{ flight, at int32 }

// found says where the values of the rows of a vector are, or will be.
type found struct {
	refs    []ref
	flights []*flight
	own     *flight  // the caller computes it
	rows    []int    // of own
	keys    []string // of rows, of an immutable function
}

// scratch has the slices that the search for equal rows of a vector needs.
type scratch struct {
	found
	keys  keys
	table rowTable
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// free keeps the slices for other vectors.
func (s *scratch) free() {
	clear(s.found.keys)
	s.found = found{refs: s.refs[:0], rows: s.rows[:0], keys: s.found.keys[:0]}
	if cap(s.keys.all) <= maxScratch && cap(s.table.keys.all) <= maxScratch {
		scratches.Put(s)
	}
}

// maxScratch is the size of keys whose memory is used again.
const maxScratch = 1 << 20

// wait waits for the values, and returns why there are none.
func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	default:
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait waits for all values.
func (f *found) wait(ctx context.Context) error {
	last := int32(-1)
	for _, r := range f.refs {
		if r.flight == last {
			continue
		}
		if err := f.flights[r.flight].wait(ctx); err != nil {
			return err
		}
		last = r.flight
	}
	return nil
}

// memo returns the function's memo of the statement, or a new one outside of statements.
func (f *Function) memo(ctx context.Context) *memo {
	newMemo := func() any { return &memo{id: f.id, fresh: functions.Recomputes(ctx)} }
	if st := engine.StatementOf(ctx); st != nil {
		return st.State(f, newMemo).(*memo)
	}
	return newMemo().(*memo)
}

// count counts calls that are about to be made.
func (m *memo) count(f *Function, calls int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows += calls
	return m.add(f, calls)
}

// Counts makes a memo an [engine.Counted].
func (m *memo) Counts() (id string, rows, calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.id, m.rows, m.calls
}

func (m *memo) add(f *Function, calls int) error {
	if m.calls += calls; f.maxCalls > 0 && m.calls > f.maxCalls {
		return engine.NewError(errcode.Limit,
			"select fewer rows with different arguments, or raise limits.max_calls of the function",
			"the statement needs at least %d calls of function '%s'; its limit is %d", m.calls, f.name, f.maxCalls)
	}
	return nil
}

// computed counts the memory of values.
func (m *memo) computed(values arrow.Array) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += int(values.Data().SizeInBytes())
}

// find finds the values of the rows, and the rows that the caller has to compute.
func (m *memo) find(f *Function, args *engine.Chunk, s *scratch) error {
	s.keys.read(args, len(f.args))
	s.own = &flight{done: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows += args.Len()
	if m.full() {
		s.share()
		return m.add(f, len(s.rows))
	}
	own := int32(len(m.flights))
	m.flights = append(m.flights, s.own)
	for i := range args.Len() {
		key := s.keys.at(i)
		number, added := m.known.add(key)
		if added {
			m.values = append(m.values, m.valueOf(f, key, own, s, i))
		}
		s.refs = append(s.refs, m.values[number])
	}
	s.flights = m.flights
	return m.add(f, len(s.rows))
}

func (m *memo) full() bool {
	return len(m.values) >= maxRemembered || m.bytes+len(m.known.keys.all) >= maxRememberedBytes
}

// valueOf says where the value of row i, a new one, is: in the cache, or in the flight own.
func (m *memo) valueOf(f *Function, key []byte, own int32, s *scratch, i int) ref {
	if value := f.cached(key); value != nil && !m.fresh {
		m.flights = append(m.flights, &flight{done: closed, values: value})
		return ref{int32(len(m.flights) - 1), 0}
	}
	s.rows = append(s.rows, i)
	if f.immutable {
		s.found.keys = append(s.found.keys, string(key))
	}
	return ref{own, int32(len(s.rows) - 1)}
}

// share finds the rows of the vector that have equal keys.
func (s *scratch) share() {
	s.table.reset()
	for i := range s.keys.ends {
		number, added := s.table.add(s.keys.at(i))
		if added {
			s.rows = append(s.rows, i)
		}
		s.refs = append(s.refs, ref{0, int32(number)})
	}
	s.flights = []*flight{s.own}
}

// cached returns the value that another statement has computed, or nil.
func (f *Function) cached(key []byte) arrow.Array {
	if !f.immutable {
		return nil
	}
	return f.set.cachedValue(f.id, key)
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// keep keeps the values for other statements. They share their memory.
func (f *Function) keep(keys []string, values arrow.Array) {
	bytes := int64(values.Data().SizeInBytes())/int64(values.Len()) + entryBytes
	for i, key := range keys {
		f.set.keepValue(f.id, key, array.NewSlice(values, int64(i), int64(i+1)), bytes+int64(len(key)))
	}
}

// entryBytes is what an entry of the cache takes besides its key and value.
const entryBytes = 300

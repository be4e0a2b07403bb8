package bodies

import (
	"bytes"
	"context"
	"hash/maphash"
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// maxRemembered is how many calls of a function one statement remembers. Beyond, equal rows
// of one vector still share a call.
const maxRemembered = 100_000

// memo is what the calls of one function in one statement share.
type memo struct {
	mu    sync.Mutex
	calls int
	known map[string]ref // by the key of a row
}

// flight is the calls for the new rows of one vector.
type flight struct {
	rows   []int
	keys   []string      // of an immutable function
	done   chan struct{} // closed when values or err is set
	values arrow.Array
	err    error
}

// ref is a value of a flight.
type ref struct {
	from *flight
	at   int
}

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

// memo returns the function's memo of the statement, or a new one outside of statements.
func (f *Function) memo(ctx context.Context) *memo {
	newMemo := func() any { return &memo{known: map[string]ref{}} }
	if st := engine.StatementOf(ctx); st != nil {
		return st.State(f, newMemo).(*memo)
	}
	return newMemo().(*memo)
}

// count counts calls that are about to be made.
func (m *memo) count(f *Function, calls int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.add(f, calls)
}

func (m *memo) add(f *Function, calls int) error {
	if m.calls += calls; f.maxCalls > 0 && m.calls > f.maxCalls {
		return engine.NewError(errcode.Limit, "select fewer rows with different arguments, or raise limits.max_calls of the function",
			"the statement needs at least %d calls of function '%s'; its limit is %d", m.calls, f.name, f.maxCalls)
	}
	return nil
}

// find returns where the values of the rows are or will be, and the flight with the rows
// that the caller has to compute.
func (m *memo) find(f *Function, args *engine.Chunk) ([]ref, *flight, error) {
	keys := rowKeys(args, len(f.args))
	own := &flight{done: make(chan struct{})}
	refs := make([]ref, args.Len())
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxRemembered {
		keys.share(own, refs)
		return refs, own, m.add(f, len(own.rows))
	}
	for i := range refs {
		key := keys.at(i)
		r, ok := m.known[string(key)]
		if !ok {
			text := string(key)
			if r = f.cached(key); r.from == nil {
				r = ref{own, len(own.rows)}
				own.rows = append(own.rows, i)
				if f.immutable {
					own.keys = append(own.keys, text)
				}
			}
			m.known[text] = r
		}
		refs[i] = r
	}
	return refs, own, m.add(f, len(own.rows))
}

// keys are the keys of the rows of a vector, one after another, and where each ends.
type keys struct {
	all  []byte
	ends []int
}

func rowKeys(args *engine.Chunk, columns int) keys {
	k := keys{all: make([]byte, 0, args.Len()*keyBytes), ends: make([]int, args.Len())}
	for i := range k.ends {
		k.all = appendRow(k.all, args, columns, i)
		k.ends[i] = len(k.all)
	}
	return k
}

// keyBytes is the expected length of a key.
const keyBytes = 16

func (k *keys) at(i int) []byte {
	if i == 0 {
		return k.all[:k.ends[0]]
	}
	return k.all[k.ends[i-1]:k.ends[i]]
}

var hashSeed = maphash.MakeSeed()

// share finds the rows of one vector that have equal keys, in a hash table of their numbers.
func (k *keys) share(own *flight, refs []ref) {
	size := 1 << bits.Len(uint(2*len(refs)))
	table := make([]int32, size) // the number of a row, from 1
	for i := range refs {
		key := k.at(i)
		slot := int(maphash.Bytes(hashSeed, key)) & (size - 1)
		for table[slot] != 0 && !bytes.Equal(k.at(int(table[slot])-1), key) {
			slot = (slot + 1) & (size - 1)
		}
		if first := table[slot]; first != 0 {
			refs[i] = refs[first-1]
			continue
		}
		table[slot] = int32(i + 1)
		refs[i] = ref{own, len(own.rows)}
		own.rows = append(own.rows, i)
	}
}

// cached returns the value that another statement has computed, if there is one.
func (f *Function) cached(key []byte) ref {
	if !f.immutable {
		return ref{}
	}
	value := f.set.cachedValue(f.id, key)
	if value == nil {
		return ref{}
	}
	return ref{&flight{done: closed, values: value}, 0}
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// keep keeps the values for other statements. They share their memory.
func (f *Function) keep(own *flight) {
	bytes := int64(own.values.Data().SizeInBytes())/int64(own.values.Len()) + entryBytes
	for i, key := range own.keys {
		f.set.keepValue(f.id, key, array.NewSlice(own.values, int64(i), int64(i+1)), bytes+int64(len(key)))
	}
}

// entryBytes is what an entry of the cache takes besides its key and value.
const entryBytes = 300

package bodies

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/spicepod"
)

// Limits of the values of immutable functions that a set keeps.
const (
	maxCached      = 100_000
	maxCachedBytes = 64 << 20
)

// Set is the functions of all generations that statements may still call. It is safe for
// concurrent use.
type Set struct {
	mu        sync.Mutex
	functions map[string]*Function // by ID
	closing   sync.WaitGroup

	cached sync.Mutex
	cache  *lru.Cache[cacheKey, arrow.Array] // each of one value
}

// cacheKey is a call of an immutable function.
type cacheKey struct{ id, row string }

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{functions: map[string]*Function{}, cache: lru.New[cacheKey, arrow.Array](maxCached, maxCachedBytes, nil)}
}

// SpecOf returns what the body of f, of that pod, is made of.
func SpecOf(f *functions.Function, pod *spicepod.Pod) body.Spec {
	code := f.Code()
	return body.Spec{
		Pod: pod, Path: f.Path, Declared: f.Declared, Checksum: f.Checksum,
		Args: format.ArrowSchema(code.Args), Returns: format.ArrowType(code.Returns),
	}
}

// Acquire keeps the function of that ID in the set until it is released. It reports whether
// the set has it.
func (s *Set) Acquire(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.functions[id]
	if f != nil {
		f.users++
	}
	return f != nil
}

// Add adds a function that the set does not have, acquired, with its body, which the set
// closes.
func (s *Set) Add(f *functions.Function, b body.Body) {
	added := newFunction(s, f, b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.functions[added.id] = added
}

// Release undoes an Acquire or an Add. A function that no one uses any more is removed, and
// its body is closed when its last call has ended.
func (s *Set) Release(id string) {
	s.mu.Lock()
	f := s.functions[id]
	if f != nil {
		f.users--
	}
	if f == nil || f.users > 0 {
		s.mu.Unlock()
		return
	}
	delete(s.functions, id)
	s.mu.Unlock()
	s.forget(id)
	s.closing.Go(f.close)
}

// Close closes all bodies, after their calls.
func (s *Set) Close() {
	s.mu.Lock()
	all := s.functions
	s.functions = map[string]*Function{}
	s.mu.Unlock()
	for _, f := range all {
		f.close()
	}
	s.closing.Wait()
}

// enter returns the function of that ID for a call that ends with leave, or nil.
func (s *Set) enter(id string) (f *Function, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f = s.functions[id]; f == nil {
		return nil, nil
	}
	f.calls.Add(1)
	return f, f.calls.Done
}

// Call computes the values of one vector of rows. It is the [engine.BatchHandler].
func (s *Set) Call(ctx context.Context, id string, _ *engine.Type, args *engine.Chunk) (*engine.Chunk, error) {
	f, leave := s.enter(id)
	if f == nil {
		return nil, engine.NewError(errcode.Execution, "run it again", "a function that the statement calls has changed")
	}
	defer leave()
	return f.call(ctx, args)
}

func (s *Set) cachedValue(id string, row []byte) arrow.Array {
	s.cached.Lock()
	defer s.cached.Unlock()
	a, _ := s.cache.Get(cacheKey{id, string(row)})
	return a
}

func (s *Set) keepValue(id, row string, value arrow.Array, bytes int64) {
	s.cached.Lock()
	defer s.cached.Unlock()
	s.cache.Put(cacheKey{id, row}, value, bytes)
}

// forget removes the values of a function.
func (s *Set) forget(id string) {
	s.cached.Lock()
	defer s.cached.Unlock()
	s.cache.DeleteFunc(func(k cacheKey, _ arrow.Array) bool { return k.id == id })
}

package sqlapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// The headers that report how the cache was used, as Spice has them.
const (
	headerCacheStatus = "Results-Cache-Status"
	headerCacheScope  = "Results-Cache-Scope"
	headerXCache      = "X-Cache" // Spice's older one
)

// The states of an answer with regard to the cache.
const (
	cacheHit    = "HIT"
	cacheMiss   = "MISS"
	cacheStale  = "STALE"
	cacheBypass = "BYPASS"
)

// maxCachedShare is the largest part of the cache that one result may take.
const maxCachedShare = 8

func setCacheStatus(h http.Header, status string) {
	h.Set(headerCacheStatus, status)
	switch status {
	case cacheHit, cacheStale:
		h.Set(headerXCache, "Hit from spiceai")
		h.Set(headerCacheScope, "shared")
	case cacheMiss:
		h.Set(headerXCache, "Miss from spiceai")
		h.Set(headerCacheScope, "shared")
	}
}

// cached answers a statement from the cache, or runs it and caches its result.
func (s *sqlHandler) cached(w http.ResponseWriter, r *http.Request, req query.Request, out output) error {
	settings := s.settings()
	if !settings.Enabled {
		return s.statement(w, r, req, out, nil)
	}
	if strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Cache-Control"), ",")), "no-cache") {
		setCacheStatus(w.Header(), cacheBypass)
		return s.statement(w, r, req, out, nil)
	}
	text, ok := cacheText(req, out, settings.CacheKeyType)
	if !ok {
		setCacheStatus(w.Header(), cacheBypass)
		return s.statement(w, r, req, out, nil)
	}
	t := &recording{cache: s.cache, text: text, out: out, settings: settings}
	found, fresh := s.cache.get(text, settings, time.Now(), s.queries.Version)
	if found == nil {
		return s.statement(w, r, req, out, t)
	}
	status := cacheHit
	if !fresh {
		status = cacheStale
		s.cache.renew(found.key, func(ctx context.Context) { s.revalidate(ctx, req, t) })
	}
	return s.answerFrom(w, r, req, found, status)
}

// answerFrom sends a cached result. It counts as a statement.
func (s *sqlHandler) answerFrom(w http.ResponseWriter, r *http.Request, req query.Request, found *cachedResult,
	status string,
) error {
	began := time.Now()
	if err := s.queries.Refused(); err != nil {
		return err
	}
	s.noteStatement(w, r, req.SQL)
	h := w.Header()
	setCacheStatus(h, status)
	h.Set("Content-Type", found.contentType)
	h.Add("Vary", "Accept")
	setGeneration(w, found.generation)
	_, err := w.Write(found.body)
	s.queries.Answered(r.Context(), req, query.Answered{
		Functions: found.functions, Rows: found.rows, Bytes: int64(len(found.body)), Began: began, Err: err,
	})
	return err
}

// revalidate runs a statement for the cache alone: its request has been
// answered already.
func (s *sqlHandler) revalidate(ctx context.Context, req query.Request, t *recording) {
	req.Protocol, req.Remote, req.Caller.RequestID = query.Renewal, "", ""
	rows, err := s.queries.Query(ctx, req)
	if err != nil {
		return // the next request gets the error
	}
	defer rows.Close()
	to := t.begin(nil, rows)
	if to == nil {
		return
	}
	if _, err := format.Copy(t.out.newWriter(to), rows); err != nil {
		rows.Failed(err)
		return
	}
	t.end(rows)
}

// cacheText is what makes requests equal, besides the state of the data. It
// reports false for named parameters: they are of few statements.
func cacheText(req query.Request, out output, keyType string) (string, bool) {
	sql := req.SQL
	if keyType == "plan" {
		sql = sqltree.Joined(sql)
	}
	params, err := json.Marshal(req.Params.Positional) // 1, 1.0 and "1" differ
	if err != nil || len(req.Params.Named) > 0 {
		return "", false
	}
	return out.contentType + "\x00" + sql + "\x00" + string(params), true
}

// recording puts the result of a running statement into the cache.
type recording struct {
	cache    *resultCache
	text     string
	out      output
	settings spicepod.ResultCache
	body     *bounded
}

// begin returns what takes a copy of the rows; nil: they are not cached.
func (t *recording) begin(w http.ResponseWriter, rows *query.Rows) io.Writer {
	status := cacheMiss
	if traits := rows.Traits(); traits.Volatile || traits.Stable || traits.Protected {
		status = cacheBypass
	}
	if w != nil {
		setCacheStatus(w.Header(), status)
	}
	if status == cacheBypass {
		return nil
	}
	t.body = &bounded{limit: int64(t.settings.MaxSize) / maxCachedShare}
	return t.body
}

// end caches the rows, after the last byte.
func (t *recording) end(rows *query.Rows) {
	if t.body == nil || t.body.over {
		return
	}
	t.cache.put(&cachedResult{
		key: t.text, serial: rows.Serial(), reads: rows.Reads(), contentType: t.out.contentType,
		generation: rows.Generation(),
		body:       bytes.Clone(t.body.buf), // without the room to grow
		rows:       rows.Read(), functions: rows.Functions(), made: rows.Began(),
	}, int64(t.settings.MaxSize))
}

// bounded collects bytes unless they become too many.
type bounded struct {
	buf   []byte
	limit int64
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || int64(len(b.buf)+len(p)) > b.limit; b.over {
		b.buf = nil
		return len(p), nil
	}
	b.buf = append(b.buf, p...)
	return len(p), nil
}

// resultCache holds results as they were sent. It is safe for concurrent use.
type resultCache struct {
	mu       sync.Mutex
	results  *lru.Cache[string, *cachedResult]
	renewing map[string]bool

	life context.Context // of renewals; ends with close
	stop context.CancelFunc
	work sync.WaitGroup
}

// cachedResult is a result with what answering from it needs.
type cachedResult struct {
	key         string            // of the request
	serial      uint64            // of the catalog that the statement saw
	reads       []engine.Relation // what the statement read
	contentType string
	generation  uint64
	body        []byte
	rows        int64
	functions   []string
	made        time.Time
}

// resultOverhead is about what one result takes in addition to its texts and relations.
const resultOverhead = 512

// relationBytes is the size of a relation, whose names belong to the catalog.
const relationBytes = 32

// maxRenewing bounds the results that are renewed at once.
const maxRenewing = 4

func newResultCache() *resultCache {
	c := &resultCache{results: lru.New[string, *cachedResult](math.MaxInt, 0, nil), renewing: map[string]bool{}}
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// get returns the result under the key, if it may still be served, and whether it is
// fresh. A result is dropped when the rows of a relation that its statement read have
// changed since the statement began, see [engine.DB.Version].
func (c *resultCache) get(key string, s spicepod.ResultCache, now time.Time,
	version func([]engine.Relation) uint64,
) (found *cachedResult, fresh bool) {
	c.mu.Lock()
	r, ok := c.results.Get(key)
	c.mu.Unlock()
	if !ok {
		return nil, false
	}
	age := now.Sub(r.made)
	if age > s.ItemTTL+s.StaleWhileRevalidate || version(r.reads) > r.serial { // which may wait for a publication
		c.drop(r)
		return nil, false
	}
	return r, age <= s.ItemTTL
}

// drop removes a result, unless another one has taken its place.
func (c *resultCache) drop(r *cachedResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.results.Get(r.key); ok && now == r {
		c.results.Delete(r.key)
	}
}

// put adds a result to a cache of limit bytes, unless the one that is there is newer: a
// statement that began earlier may end later.
func (c *resultCache) put(r *cachedResult, limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.results.Get(r.key); ok && other.serial > r.serial {
		return
	}
	c.results.SetMaxWeight(limit)
	c.results.Put(r.key, r, int64(len(r.key)+len(r.body)+relationBytes*len(r.reads))+resultOverhead)
}

// renew calls f in the background, unless the result is being renewed already
// or too many are.
func (c *resultCache) renew(key string, f func(ctx context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renewing[key] || len(c.renewing) >= maxRenewing || c.life.Err() != nil {
		return
	}
	c.renewing[key] = true
	c.work.Go(func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.renewing, key)
		}()
		f(c.life)
	})
}

// close cancels the renewals and waits for them.
func (c *resultCache) close() {
	c.stop()
	c.work.Wait()
}

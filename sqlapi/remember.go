package sqlapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// The headers that tell how an answer came about, as Spice has them.
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

// remembered answers a statement from the cache, or runs it and lets the cache
// take its result.
func (a *API) remembered(w http.ResponseWriter, r *http.Request, req query.Request, out output) error {
	settings := a.cacheSettings()
	if !settings.Enabled {
		return a.statement(w, r, req, out, nil)
	}
	if strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Cache-Control"), ",")), "no-cache") {
		setCacheStatus(w.Header(), cacheBypass)
		return a.statement(w, r, req, out, nil)
	}
	text, ok := cacheText(req, out, settings.CacheKeyType)
	if !ok {
		setCacheStatus(w.Header(), cacheBypass)
		return a.statement(w, r, req, out, nil)
	}
	t := &taking{cache: a.cache, text: text, out: out, settings: settings}
	found, fresh := a.cache.get(t.key(a.opts.Queries.Serial()), settings, time.Now())
	if found == nil {
		return a.statement(w, r, req, out, t)
	}
	status := cacheHit
	if !fresh {
		status = cacheStale
		a.cache.renew(found.key, func(ctx context.Context) { a.makeAnew(ctx, req, t) })
	}
	return a.answerFrom(w, r, req, found, status)
}

func (a *API) cacheSettings() spicepod.ResultCache {
	if a.opts.Cache == nil {
		return spicepod.ResultCache{}
	}
	return a.opts.Cache()
}

// answerFrom sends a remembered result. It counts as a statement.
func (a *API) answerFrom(w http.ResponseWriter, r *http.Request, req query.Request, found *cachedResult, status string) error {
	began := time.Now()
	if err := a.opts.Queries.Refused(); err != nil {
		return err
	}
	noteStatement(a, w, r, req.SQL)
	h := w.Header()
	setCacheStatus(h, status)
	h.Set("Content-Type", found.contentType)
	h.Add("Vary", "Accept")
	setGeneration(w, found.generation)
	_, err := w.Write(found.body)
	a.opts.Queries.Answered(r.Context(), req, query.Answered{
		Functions: found.functions, Rows: found.rows, Bytes: int64(len(found.body)), Began: began, Err: err,
	})
	return err
}

// makeAnew runs a statement for the cache alone: the request that it was once
// made for is answered already.
func (a *API) makeAnew(ctx context.Context, req query.Request, t *taking) {
	req.Door, req.Remote, req.Caller.RequestID = query.Renewal, "", ""
	rows, err := a.opts.Queries.Query(ctx, req)
	if err != nil {
		return // whoever asks next gets the error
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

// taking lets the cache take the result of a statement that runs.
type taking struct {
	cache    *resultCache
	text     string
	out      output
	settings spicepod.ResultCache
	body     *bounded
}

// key tells results apart: by the request and by the state of the data.
func (t *taking) key(serial uint64) string { return strconv.FormatUint(serial, 36) + "\x00" + t.text }

func (t *taking) begin(w http.ResponseWriter, rows *query.Rows) io.Writer {
	status := cacheMiss
	if traits := rows.Traits(); traits.Volatile || traits.Protected {
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

func (t *taking) end(rows *query.Rows) {
	if t.body == nil || t.body.over {
		return
	}
	t.cache.put(&cachedResult{
		key: t.key(rows.Serial()), contentType: t.out.contentType, generation: rows.Generation(),
		body: bytes.Clone(t.body.buf), // without the room to grow
		rows: rows.Read(), functions: rows.Functions(), made: rows.Began(),
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

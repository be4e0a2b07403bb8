package https

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/kit/disk"
)

// entry describes a cached file. It does not contain the URL, which may be
// secret.
type entry struct {
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"last_modified,omitempty"`
	File         string    `json:"file"` // name in the cache folder
	Size         int64     `json:"size"`
	Fetched      time.Time `json:"fetched"`
}

// fetched is a cached file with a holder.
type fetched struct {
	entry
	path     string
	stale    error // why it could not be updated
	resource *resource.Resource
}

// cache is a folder of files. A file that no version reads is removed when a
// newer one has replaced it, or when the folder is too large.
type cache struct {
	dir string
	max int64 // bytes

	fetching sync.Map // a mutex by key, which serializes fetches

	mu   sync.Mutex
	used map[string]*resource.Resource // by file
	old  map[string]bool               // replaced files that are used
}

func newCache(dir string, size int64) *cache {
	return &cache{dir: dir, max: size, used: map[string]*resource.Resource{}, old: map[string]bool{}}
}

// get returns the entry of a key if its file exists, or nil.
func (c *cache) get(key string) *entry {
	var e entry
	if disk.ReadJSON(c.path(key+".json"), &e) != nil || e.File != filepath.Base(e.File) {
		return nil
	}
	info, err := os.Stat(c.path(e.File))
	if err != nil || info.Size() != e.Size {
		return nil
	}
	return &e
}

func (c *cache) path(file string) string { return filepath.Join(c.dir, file) }

// put records a file, which replaces the one before.
func (c *cache) put(key string, e, before *entry) error {
	if err := disk.WriteJSON(c.path(key+".json"), e); err != nil {
		os.Remove(c.path(e.File))
		return err
	}
	if before != nil {
		c.drop(before.File)
	}
	c.trim()
	return nil
}

// use returns a file with the caller as a holder.
func (c *cache) use(e *entry) *fetched {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.used[e.File]
	if r == nil {
		r = resource.New(func() { c.free(e.File) })
		c.used[e.File] = r
	} else {
		r.Retain()
	}
	return &fetched{entry: *e, path: c.path(e.File), resource: r}
}

// drop removes a replaced file when it is no longer used.
func (c *cache) drop(file string) {
	c.mu.Lock()
	c.old[file] = true
	c.mu.Unlock()
	c.free(file)
}

// free removes a file without holders if it was replaced.
func (c *cache) free(file string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.used[file]; r != nil && r.Held() {
		return
	}
	delete(c.used, file)
	if c.old[file] {
		delete(c.old, file)
		os.Remove(c.path(file))
	}
}

// trim removes the oldest unused files while the cache is too large.
func (c *cache) trim() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var infos []os.FileInfo
	var total int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && !strings.HasSuffix(e.Name(), ".json") {
			infos = append(infos, info)
			total += info.Size()
		}
	}
	slices.SortFunc(infos, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range infos[:max(0, len(infos)-1)] { // the newest was just fetched
		if total <= c.max {
			return
		}
		c.mu.Lock()
		used := c.used[info.Name()] != nil
		c.mu.Unlock()
		if !used && os.Remove(c.path(info.Name())) == nil {
			total -= info.Size()
		}
	}
}

// fetch updates the cached file of a dataset. If that fails, it returns the
// earlier copy, if there is one, with the reason in stale.
func (s *httpSource) fetch(ctx context.Context) (*fetched, error) {
	down, err := s.newDownload(s.d)
	if err != nil {
		return nil, err
	}
	key := cacheKey(down)
	lock, _ := s.cache.fetching.LoadOrStore(key, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	have := s.cache.get(key)
	got, err := s.retrieve(ctx, down, key, have)
	var h *httpError
	var p *os.PathError // the cache cannot be written
	switch {
	case err == nil:
		return s.cache.use(got), nil
	case (errors.As(err, &h) && !h.gone || errors.As(err, &p)) && have != nil && ctx.Err() == nil:
		f := s.cache.use(have)
		if p != nil {
			err = fmt.Errorf("write the cache: %w", p.Err)
		}
		f.stale = fault.New("from", "the copy of "+have.Fetched.Format(time.RFC3339)+" is served",
			"cannot fetch %q: %s", s.d.From.Shown, err)
		return f, nil
	}
	return nil, fault.New("from", "", "cannot fetch %q: %s", s.d.From.Shown, err).Retryable()
}

// retrieve retries until an attempt succeeds or fails permanently.
func (s *httpSource) retrieve(ctx context.Context, down *download, key string, have *entry) (*entry, error) {
	wait := firstBackoff
	for n := 1; ; n++ {
		got, err := s.retrieveOnce(ctx, down, key, have)
		var h *httpError
		if err == nil || !errors.As(err, &h) || !h.again || n >= down.attempts {
			return got, err
		}
		s.opts.Log.Debug("fetch failed and is retried", "dataset", s.d.Name, "attempt", n, "error", h.message)
		if load.Pause(ctx, s.opts.Clock, wait) != nil {
			return nil, err
		}
		wait *= 2
	}
}

func (s *httpSource) retrieveOnce(ctx context.Context, down *download, key string, have *entry) (*entry, error) {
	resp, done, err := s.attempt(ctx, down, have)
	if err != nil {
		return nil, err
	}
	defer done()
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<10))
		return have, nil
	}
	name := fmt.Sprintf("%s-%016x%s", key, rand.Uint64(), s.reader.Extension(urlPath(s.d.From.Target), resp.Header.Get("Content-Type")))
	got := &entry{
		ETag: resp.Header.Get("ETag"), LastModified: resp.Header.Get("Last-Modified"),
		File: name, Fetched: s.opts.Clock.Now().UTC(),
	}
	path := s.cache.path(name)
	step := s.opts.Progress.Start(s.d.Name, "fetch", resp.ContentLength)
	got.Size, err = s.save(path, resp, step)
	step.End()
	if err != nil {
		var h *httpError
		var p *os.PathError
		if errors.As(err, &h) || errors.As(err, &p) {
			return nil, err
		}
		return nil, transferError(ctx, down, err)
	}
	return got, s.cache.put(key, got, have)
}

// cacheKey returns the key of a URL and its request headers.
func cacheKey(d *download) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", d.url)
	for _, name := range slices.Sorted(maps.Keys(d.header)) {
		fmt.Fprintf(h, "%q%q", name, d.header[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

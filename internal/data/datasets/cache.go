package datasets

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// cacheEntry is what is known of a fetched file. It does not hold the URL,
// which may be secret.
type cacheEntry struct {
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"last_modified,omitempty"`
	File         string    `json:"file"` // name in the cache folder
	Size         int64     `json:"size"`
	Fetched      time.Time `json:"fetched"`
}

// fetched is a file of the cache in use.
type fetched struct {
	cacheEntry
	path     string
	stale    error // why it could not be asked for anew
	resource *resource
}

// cacheKey names a URL, with the headers it is asked for with.
func cacheKey(d *download) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", d.url)
	for _, name := range slices.Sorted(keysOf(d.header)) {
		fmt.Fprintf(h, "%q%q", name, d.header[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

func keysOf(h http.Header) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range h {
			if !yield(k) {
				return
			}
		}
	}
}

// fetch brings the file of a dataset up to date in the cache. When the server
// does not answer, an earlier copy stands in for it, with the reason in stale.
func (m *Manager) fetch(ctx context.Context, d *Dataset) (*fetched, error) {
	down, err := m.newDownload(d)
	if err != nil {
		return nil, err
	}
	key := cacheKey(down)
	lock := m.lockFor(key)
	lock.Lock()
	defer lock.Unlock()
	have := m.cached(key)
	entry, err := m.retrieve(ctx, d, down, key, have)
	var h *httpError
	switch {
	case err == nil:
		return m.use(entry), nil
	case errors.As(err, &h) && have != nil && !h.gone && ctx.Err() == nil:
		f := m.use(have)
		f.stale = newFault("from", "the copy of "+have.Fetched.Format(time.RFC3339)+" is served",
			"cannot fetch %q: %s", d.source.shown, h.message)
		return f, nil
	case h != nil:
		return nil, newFault("from", "", "cannot fetch %q: %s", d.source.shown, h.message).mayReturn()
	}
	return nil, newFault("from", "", "cannot fetch %q: %s", d.source.shown, d.redact(err.Error())).mayReturn()
}

// lockFor makes fetches of one URL wait for each other.
func (m *Manager) lockFor(key string) *sync.Mutex {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fetching[key] == nil {
		m.fetching[key] = &sync.Mutex{}
	}
	return m.fetching[key]
}

// retrieve asks until an attempt succeeds or asking again is of no use.
func (m *Manager) retrieve(ctx context.Context, d *Dataset, down *download, key string, have *cacheEntry) (*cacheEntry, error) {
	wait := m.limits.fetchBackoff
	for n := 1; ; n++ {
		entry, err := m.retrieveOnce(ctx, d, down, key, have)
		var h *httpError
		if err == nil || !errors.As(err, &h) || !h.again || n >= down.attempts {
			return entry, err
		}
		m.log.Debug("fetch again", "dataset", d.name, "attempt", n, "error", h.message)
		if m.pause(ctx, wait) != nil {
			return nil, err
		}
		wait *= 2
	}
}

func (m *Manager) retrieveOnce(ctx context.Context, d *Dataset, down *download, key string, have *cacheEntry) (*cacheEntry, error) {
	resp, done, err := m.attempt(ctx, down, have)
	if err != nil {
		return nil, err
	}
	defer done()
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<10))
		return have, nil
	}
	name := fmt.Sprintf("%s-%016x%s", key, rand.Uint64(), m.extension(d, resp))
	entry := &cacheEntry{
		ETag: resp.Header.Get("ETag"), LastModified: resp.Header.Get("Last-Modified"),
		File: name, Fetched: m.clock.Now().UTC(),
	}
	path := filepath.Join(m.cacheDir(), name)
	progress := m.progress(d.name, "fetch", resp.ContentLength)
	entry.Size, err = m.save(path, resp, func(n int64) { progress.bytes(n) })
	progress.end()
	if err != nil {
		var h *httpError
		var p *os.PathError
		if errors.As(err, &h) || errors.As(err, &p) {
			return nil, err
		}
		return nil, transferError(ctx, down, err)
	}
	if err := writeJSON(filepath.Join(m.cacheDir(), key+".json"), entry); err != nil {
		os.Remove(path)
		return nil, err
	}
	if have != nil {
		m.dropCached(have.File)
	}
	m.trimCache()
	return entry, nil
}

// extension is what the file's name in the cache must end with, for the
// format and the compression to be known by it.
func (m *Manager) extension(d *Dataset, resp *http.Response) string {
	path := urlPath(d.source.target)
	ext, compression := splitExtension(path)
	if formatOf(path) != nil {
		return ext + compression
	}
	if f := cmp.Or(d.format, formatOfMediaType(resp.Header.Get("Content-Type"))); f != nil {
		return f.extensions[0] + compression
	}
	return ".data"
}

func (m *Manager) cacheDir() string { return filepath.Join(m.stateDir, "http") }

// cached returns the entry of a URL whose file is there.
func (m *Manager) cached(key string) *cacheEntry {
	var e cacheEntry
	if readJSON(filepath.Join(m.cacheDir(), key+".json"), &e) != nil || e.File != filepath.Base(e.File) {
		return nil
	}
	info, err := os.Stat(filepath.Join(m.cacheDir(), e.File))
	if err != nil || info.Size() != e.Size {
		return nil
	}
	return &e
}

// use makes the caller a holder of a file of the cache.
func (m *Manager) use(e *cacheEntry) *fetched {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.cacheUse[e.File]
	if r == nil {
		r = &resource{}
		r.free = func() { m.freeCached(e.File, r) }
		m.cacheUse[e.File] = r
	}
	return &fetched{cacheEntry: *e, path: filepath.Join(m.cacheDir(), e.File), resource: r.retain()}
}

// dropCached removes a file that a newer one replaced, when nobody uses it.
func (m *Manager) dropCached(file string) {
	m.mu.Lock()
	m.cacheOld[file] = true
	r := m.cacheUse[file]
	m.mu.Unlock()
	m.freeCached(file, r)
}

func (m *Manager) freeCached(file string, r *resource) {
	m.mu.Lock()
	unused := r == nil || r.refs == 0
	if unused {
		delete(m.cacheUse, file)
	}
	remove := unused && m.cacheOld[file]
	if remove {
		delete(m.cacheOld, file)
	}
	m.mu.Unlock()
	if remove {
		os.Remove(filepath.Join(m.cacheDir(), file))
	}
}

// trimCache removes the oldest unused files while all are too large together.
func (m *Manager) trimCache() {
	entries, err := os.ReadDir(m.cacheDir())
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
	for _, info := range infos[:max(0, len(infos)-1)] { // the newest was fetched just now
		if total <= m.limits.cache {
			return
		}
		m.mu.Lock()
		used := m.cacheUse[info.Name()] != nil
		m.mu.Unlock()
		if !used && os.Remove(filepath.Join(m.cacheDir(), info.Name())) == nil {
			total -= info.Size()
		}
	}
}

// writeJSON replaces a file in one step.
func writeJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(raw)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}

func readJSON(path string, v any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

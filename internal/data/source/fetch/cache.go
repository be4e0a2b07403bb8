package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/kit/disk"
)

// Entry describes a file of the cache. It does not contain the URL, which may be
// secret.
type Entry struct {
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"last_modified,omitempty"`
	File         string    `json:"file"` // name in the cache folder
	Size         int64     `json:"size"`
	Fetched      time.Time `json:"fetched"`
	Paged        bool      `json:"paged,omitempty"` // it has the rows of pages, see [Cache.Rows]
}

// File is a file of the cache with a holder.
type File struct {
	Entry
	Path     string
	Stale    error // why it could not be updated
	Resource *resource.Resource
}

// Cache is a folder of files. A file that no version reads is removed when a
// newer one has replaced it, or when the folder is too large.
type Cache struct {
	dir string
	max int64 // bytes

	fetching sync.Map // a mutex by key, which serializes fetches

	mu   sync.Mutex
	used map[string]*resource.Resource // by file
	old  map[string]bool               // replaced files that are used
}

// Open opens the cache in a folder, which must exist, and removes files without an
// entry.
func Open(dir string, size int64, log *slog.Logger) (*Cache, error) {
	return &Cache{dir: dir, max: size, used: map[string]*resource.Resource{}, old: map[string]bool{}}, disk.Clean(dir, log)
}

// Update updates the cached file of a key: get returns have, the entry that there is or
// nil, or one for a file that it wrote, see [Cache.Create]. If that fails with an [Error],
// or since the cache cannot be written, the file that there is is returned with the
// reason, unless the server reports that it has no such file. Errors are about shown,
// the `from`.
func (c *Cache) Update(ctx context.Context, key, shown string, get func(have *Entry) (*Entry, error)) (*File, error) {
	lock, _ := c.fetching.LoadOrStore(key, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	have := c.get(key)
	got, err := get(have)
	if err == nil && got != have {
		err = c.put(key, got, have)
	}
	if err == nil {
		return c.use(got), nil
	}
	var e *Error
	var p *os.PathError // the cache cannot be written
	failed := Failed(shown, err)
	if (errors.As(err, &e) && !e.Gone || e == nil && errors.As(err, &p)) && have != nil && ctx.Err() == nil {
		f := c.use(have)
		f.Stale = fault.New(failed.Path, "the copy of "+have.Fetched.Format(time.RFC3339)+" is served", "%s", failed.Message)
		return f, nil
	}
	return nil, failed
}

// Failed returns the fault of an error of what is fetched. It is about shown, the `from`.
func Failed(shown string, err error) *fault.Fault {
	var e *Error
	var p *os.PathError
	path, hint := "from", ""
	if errors.As(err, &e) {
		path, hint = cmp.Or(e.Path, path), e.Hint
	} else if errors.As(err, &p) {
		err = fmt.Errorf("write the cache: %w", p.Err)
	}
	return fault.New(path, hint, "cannot fetch %q: %s", shown, err).Retryable()
}

// Once returns the file of an entry that the cache does not keep: it is removed when the
// caller releases it.
func (c *Cache) Once(e *Entry) *File {
	f := c.use(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.old[e.File] = true
	return f
}

// Create creates a file of a key for [Cache.Update].
func (c *Cache) Create(key, extension string) (*os.File, error) {
	return os.OpenFile(c.path(fmt.Sprintf("%s-%016x%s", key, rand.Uint64(), extension)),
		os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// Open opens the file of an entry to read it.
func (c *Cache) Open(e *Entry) (*os.File, error) { return os.Open(c.path(e.File)) }

// get returns the entry of a key if its file exists, or nil.
func (c *Cache) get(key string) *Entry {
	var e Entry
	if disk.ReadJSON(c.path(key+".json"), &e) != nil || e.File != filepath.Base(e.File) {
		return nil
	}
	info, err := os.Stat(c.path(e.File))
	if err != nil || info.Size() != e.Size {
		return nil
	}
	return &e
}

func (c *Cache) path(file string) string { return filepath.Join(c.dir, file) }

// put records a file, which replaces the one before.
func (c *Cache) put(key string, e, before *Entry) error {
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
func (c *Cache) use(e *Entry) *File {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.used[e.File]
	if r == nil {
		r = resource.New(func() { c.free(e.File) })
		c.used[e.File] = r
	} else {
		r.Retain()
	}
	return &File{Entry: *e, Path: c.path(e.File), Resource: r}
}

// drop removes a replaced file when it is no longer used.
func (c *Cache) drop(file string) {
	c.mu.Lock()
	c.old[file] = true
	c.mu.Unlock()
	c.free(file)
}

// free removes a file without holders if it was replaced.
func (c *Cache) free(file string) {
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
func (c *Cache) trim() {
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

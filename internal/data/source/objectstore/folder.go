package objectstore

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/spiced-sql/spiced/internal/data/fault"
)

// Folder is a folder as a store. Nothing outside of it is read, also through symbolic
// links.
type Folder struct {
	path string
	open func(path string) (*os.Root, error)
}

// NewFolder returns the store of the folder at a path, which open opens for each request.
func NewFolder(path string, open func(path string) (*os.Root, error)) *Folder {
	return &Folder{path, open}
}

// ID implements [Store].
func (f *Folder) ID() string { return "folder " + f.path }

// Fault implements [Store].
func (f *Folder) Fault(err error) *fault.Fault {
	var known *fault.Fault
	if errors.As(err, &known) {
		return known
	}
	return fault.New("from", "", "cannot read the folder: %s", cause(err)).Retryable()
}

// cause returns an error of a file without its path.
func cause(err error) error {
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &file):
		return file.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// List implements [Store].
func (f *Folder) List(ctx context.Context, _, prefix, after string, limit int) (found []Object, err error) {
	root, err := f.open(f.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	start := path.Dir(prefix + "x")
	err = fs.WalkDir(root.FS(), start, func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case e.IsDir() || !strings.HasPrefix(name, prefix) || name <= after:
			return nil
		}
		info, err := root.Stat(name)
		if err != nil || !info.Mode().IsRegular() { // a link that leads out, or nowhere
			return nil
		}
		found = append(found, Object{Key: name, Size: info.Size(), Modified: info.ModTime()})
		if len(found) > limit {
			return fs.SkipAll
		}
		return nil
	})
	slices.SortFunc(found, func(a, b Object) int { return strings.Compare(a.Key, b.Key) })
	return found, err
}

// serve implements [Store].
func (f *Folder) serve(_ *Proxy, w http.ResponseWriter, r *request) {
	root, err := f.open(f.path)
	if err != nil {
		refuse(w, http.StatusForbidden, "AccessDenied", f.Fault(err).Message)
		return
	}
	defer root.Close()
	file, err := root.OpenFile(r.key, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if errors.Is(err, fs.ErrNotExist) {
		refuse(w, http.StatusNotFound, "NoSuchKey", "the table has no such file")
		return
	}
	if err != nil {
		refuse(w, http.StatusForbidden, "AccessDenied", f.Fault(err).Message)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		refuse(w, http.StatusForbidden, "AccessDenied", "it is not a regular file")
		return
	}
	w.Header().Set("ETag", Object{Size: info.Size(), Modified: info.ModTime()}.tag())
	http.ServeContent(w, r.Request, "", info.ModTime(), file)
}

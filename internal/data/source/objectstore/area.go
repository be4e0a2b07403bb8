package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/spiced-sql/spiced/internal/data/fault"
)

// Area is a folder of a store in which the runtime itself reads and writes objects. Keys
// are relative to it. Errors are faults without secrets.
//
//	area := objectstore.NewArea(store, "bucket", "folder/")
//	err := area.Put(ctx, "a.parquet", file, size)
//	objects, err := area.List(ctx, 1000)
//	err = area.Get(ctx, "a.parquet", writer, size)
type Area struct {
	store          writable
	bucket, prefix string // prefix is "", or it ends with a slash
}

// writable is a store that the runtime writes to.
type writable interface {
	Store
	get(ctx context.Context, bucket, key string) (io.ReadCloser, error)
	put(ctx context.Context, bucket, key string, data io.ReaderAt, size int64) error
	remove(ctx context.Context, bucket, key string) error
	writeFault(err error) *fault.Fault
}

var (
	_ writable = (*S3)(nil)
	_ writable = (*Azure)(nil)
	_ writable = (*Folder)(nil)
)

// NewArea returns the area below a prefix of a [*S3], [*Azure] or [*Folder].
func NewArea(store writable, bucket, prefix string) Area { return Area{store, bucket, prefix} }

// Sub returns the folder of a name in the area.
func (a Area) Sub(name string) Area { return Area{a.store, a.bucket, a.prefix + name + "/"} }

// Patience is how long a transfer may make no progress.
const Patience = time.Minute

// errTooLarge is the error of an object that is larger than it may be.
var errTooLarge = fault.New("", "", "the object is larger than it should be")

// List returns the objects of the area, those of its folders too, in the order of their
// keys, at most limit+1.
func (a Area) List(ctx context.Context, limit int) ([]Object, error) {
	objects, err := a.store.List(ctx, a.bucket, a.prefix, "", limit)
	if errors.Is(err, fs.ErrNotExist) { // the folder is made by the first Put
		return nil, nil
	}
	if err != nil {
		return nil, a.failed(ctx, err, a.store.Fault)
	}
	for i, o := range objects {
		key, ok := strings.CutPrefix(o.Key, a.prefix)
		if !ok || !CleanKey(key) {
			return nil, fault.New("location", "", "the store lists an object that is not in the folder")
		}
		objects[i].Key = key
	}
	return objects, nil
}

// Get writes the bytes of an object, at most limit of them; a larger object is an error.
func (a Area) Get(ctx context.Context, key string, to io.Writer, limit int64) error {
	ctx, w := watch(ctx)
	defer w.stop()
	in, err := a.store.get(ctx, a.bucket, a.prefix+key)
	if err != nil {
		return a.failed(ctx, err, a.store.Fault)
	}
	defer in.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(to, w)}, struct{ io.Reader }{io.LimitReader(in, limit+1)},
		make([]byte, 256<<10))
	switch {
	case err != nil:
		return a.failed(ctx, err, a.store.Fault)
	case n > limit:
		return errTooLarge
	}
	return nil
}

// Put writes an object as a whole or not at all.
func (a Area) Put(ctx context.Context, key string, data io.ReaderAt, size int64) error {
	ctx, w := watch(ctx)
	defer w.stop()
	if err := a.store.put(ctx, a.bucket, a.prefix+key, watchedReader{data, w}, size); err != nil {
		return a.failed(ctx, err, a.store.writeFault)
	}
	return nil
}

// Remove removes an object; that there is none is no error.
func (a Area) Remove(ctx context.Context, key string) error {
	if err := a.store.remove(ctx, a.bucket, a.prefix+key); err != nil {
		return a.failed(ctx, err, a.store.writeFault)
	}
	return nil
}

// failed explains an error. That of a caller who has left is the one of the context.
func (a Area) failed(ctx context.Context, err error, explain func(error) *fault.Fault) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return explain(err)
}

// errStalled ends a transfer without progress.
var errStalled = fault.New("location", "", "the store has not answered for %s", Patience).Retryable()

// progress ends a transfer that makes none.
type progress struct {
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// watch returns a context that ends when nothing was written to the progress for
// [Patience].
func watch(ctx context.Context) (context.Context, *progress) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &progress{time.AfterFunc(Patience, func() { cancel(errStalled) }), cancel}
}

// Write records progress.
func (p *progress) Write(b []byte) (int, error) {
	p.timer.Reset(Patience)
	return len(b), nil
}

func (p *progress) stop() {
	p.timer.Stop()
	p.cancel(nil)
}

// watchedReader records the progress of who reads.
type watchedReader struct {
	io.ReaderAt
	to *progress
}

// ReadAt implements [io.ReaderAt].
func (r watchedReader) ReadAt(b []byte, at int64) (int, error) {
	r.to.timer.Reset(Patience)
	return r.ReaderAt.ReadAt(b, at)
}

func (s *S3) get(ctx context.Context, bucket, key string) (io.ReadCloser, error) {
	return s.client.GetObject(ctx, bucket, key, minio.GetObjectOptions{})
}

// uploads is how many parts of an object are sent at a time.
const uploads = 2

// put sends an object. One of more than 16 MiB is sent in parts, which are read as they
// are sent, and is there when the last part is.
func (s *S3) put(ctx context.Context, bucket, key string, data io.ReaderAt, size int64) error {
	_, err := s.client.PutObject(ctx, bucket, key, io.NewSectionReader(data, 0, size), size,
		minio.PutObjectOptions{NumThreads: uploads})
	return err
}

func (s *S3) remove(ctx context.Context, bucket, key string) error {
	return s.client.RemoveObject(ctx, bucket, key, minio.RemoveObjectOptions{})
}

func (s *S3) writeFault(err error) *fault.Fault { return s.Fault(err) }

// unfinished is the end of the name of a file while it is written.
const unfinished = ".part"

func (f *Folder) get(_ context.Context, _, key string) (io.ReadCloser, error) {
	root, err := f.open(f.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(key, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path.Base(key)), file.Close())
	}
	return file, nil
}

// put writes a file next to its place, and then moves it there.
func (f *Folder) put(ctx context.Context, _, key string, data io.ReaderAt, size int64) error {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return err
	}
	root, err := f.open(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(key), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(key+unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, ended{ctx.Done(), io.NewSectionReader(data, 0, size)},
		make([]byte, 256<<10))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = root.Rename(key+unfinished, key)
	}
	if err != nil {
		root.Remove(key + unfinished)
	}
	return err
}

// ended is a reader that fails after the end of a context.
type ended struct {
	done <-chan struct{}
	io.Reader
}

// Read implements [io.Reader].
func (e ended) Read(b []byte) (int, error) {
	select {
	case <-e.done:
		return 0, context.Canceled
	default:
		return e.Reader.Read(b)
	}
}

func (f *Folder) remove(_ context.Context, _, key string) error {
	root, err := f.open(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *Folder) writeFault(err error) *fault.Fault {
	out := *f.Fault(err)
	var known *fault.Fault
	if !errors.As(err, &known) {
		out.Message = "cannot write to the folder: " + cause(err).Error()
	}
	return &out
}

package usage

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The files of the folder. A damaged one is copied aside, over the last copy.
const (
	lockName     = "usage.lock" // held by the process that uses the folder
	snapshotName = "usage.snapshot"
	journalName  = "usage.journal"
	unfinished   = ".new"
	setAside     = ".damaged"
)

// ErrLocked reports that another process keeps its counts in the same folder.
var ErrLocked = errors.New("another spiced uses it; give each its own")

// store is the folder. One goroutine at a time uses it.
type store struct {
	dir  string
	log  *slog.Logger
	lock *os.File

	generation uint64 // of the files
	journal    *os.File
	size       int64     // of the journal
	limit      int64     // of size
	taken      time.Time // when the last snapshot was
	stale      bool      // the journal lacks something: only a snapshot will do
}

// openStore makes the folder and locks it.
func openStore(dir string, log *slog.Logger) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the usage directory: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("lock usage directory %q: %w", dir, err)
	}
	return &store{dir: dir, log: log, lock: lock, limit: maxJournal, stale: true}, nil
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

// load gives each batch of the files to take. Damage costs what stands behind
// it, and a warning. It returns when counting began; zero: there is nothing.
func (s *store) load(take func(batch) error) (time.Time, error) {
	snapshot, err := s.read(snapshotName, 1, take)
	if err != nil {
		return time.Time{}, err
	}
	journal, err := s.read(journalName, snapshot.Generation, take)
	s.generation = max(snapshot.Generation, journal.Generation)
	if snapshot.Since.IsZero() {
		snapshot.Since = journal.Since
	}
	return snapshot.Since, err
}

// read reads one file, unless it is older than a generation.
func (s *store) read(name string, oldest uint64, take func(batch) error) (head, error) {
	f, err := os.Open(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return head{}, nil
	}
	if err != nil {
		return head{}, fmt.Errorf("read usage: %w", err)
	}
	defer f.Close()
	h, err := readFile(f, oldest, take)
	switch {
	case err == nil:
	case errors.Is(err, errTorn) && name == journalName:
		s.log.Info("the last counts before the end of the last run are lost", "file", f.Name())
	default:
		s.log.Warn("usage counts are damaged; what can be read is kept", "file", f.Name(), "copy", f.Name()+setAside, "error", err)
		if err := s.copyAside(f); err != nil {
			return h, fmt.Errorf("set damaged usage counts aside: %w", err)
		}
	}
	return h, nil
}

// copyAside copies a damaged file, which the next snapshot replaces.
func (s *store) copyAside(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	aside, err := create(f.Name() + setAside)
	if err != nil {
		return err
	}
	_, err = io.Copy(aside, f)
	return errors.Join(err, aside.Close())
}

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// append adds a batch to the journal in one write. It reports whether it did;
// without, the store is stale.
func (s *store) append(b batch) (bool, error) {
	s.stale = true // until the write has succeeded
	record, err := appendRecord(nil, b)
	if err != nil || s.size+int64(len(record)) > s.limit {
		return false, err
	}
	n, err := s.journal.Write(record)
	s.size += int64(n)
	if err != nil {
		return false, fmt.Errorf("write usage: %w", err)
	}
	s.stale = false
	return true, nil
}

// snapshot replaces both files by one that holds everything and an empty
// journal. A crash between the two leaves a journal of the old generation,
// which is not read.
func (s *store) snapshot(everything []batch, since, now time.Time) error {
	s.stale = true // until all has succeeded
	h := head{Format: format, Generation: s.generation + 1, Since: since}
	if err := s.writeSnapshot(h, everything); err != nil {
		return fmt.Errorf("write a snapshot of usage: %w", err)
	}
	s.generation = h.Generation
	if err := s.newJournal(h); err != nil {
		return fmt.Errorf("begin a journal of usage: %w", err)
	}
	s.taken, s.stale = now, false
	return nil
}

func (s *store) writeSnapshot(h head, batches []batch) error {
	path := s.path(snapshotName)
	f, err := create(path + unfinished)
	if err != nil {
		return err
	}
	h.Records = len(batches)
	err = errors.Join(writeRecords(f, h, batches), f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(s.dir)
}

func writeRecords(f io.Writer, h head, batches []batch) error {
	w := bufio.NewWriterSize(f, 64<<10)
	line, err := appendRecord(nil, h)
	for i := 0; err == nil && i < len(batches); i++ {
		if _, err = w.Write(line); err == nil {
			line, err = appendRecord(line[:0], batches[i])
		}
	}
	if err == nil {
		_, err = w.Write(line)
	}
	return errors.Join(err, w.Flush())
}

func (s *store) newJournal(h head) error {
	if s.journal != nil {
		s.journal.Close() // the snapshot has all of it
		s.journal = nil
	}
	record, err := appendRecord(nil, h)
	if err != nil {
		return err
	}
	f, err := create(s.path(journalName))
	if err != nil {
		return err
	}
	if _, err := f.Write(record); err != nil {
		return errors.Join(err, f.Close())
	}
	s.journal, s.size = f, int64(len(record))
	return nil
}

// close gives the folder back.
func (s *store) close() error {
	var err error
	if s.journal != nil {
		err = errors.Join(s.journal.Sync(), s.journal.Close())
	}
	return errors.Join(err, s.lock.Close())
}

// split parts a batch into some of at most n items of each kind, so that no
// record is large.
func (b batch) split(n int) []batch {
	var out []batch
	for !b.empty() {
		out = append(out, batch{
			cut(&b.Usage, n), cut(&b.Tools, n), cut(&b.Hits, n), cut(&b.Searched, n), cut(&b.Models, n), cut(&b.Calls, n), cut(&b.Searches, n),
		})
	}
	return out
}

func cut[T any](list *[]T, n int) []T {
	n = min(n, len(*list))
	head := (*list)[:n]
	*list = slices.Clip((*list)[n:])
	return head
}

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

	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/kit/scratch"
)

// The files in the folder. A damaged one is copied, replacing an earlier copy.
const (
	lockName     = "usage.lock" // locked by the process that uses the folder
	snapshotName = "usage.snapshot"
	journalName  = "usage.journal"
	unfinished   = ".new"
	setAside     = ".damaged"
)

// store is the folder. It is not safe for concurrent use.
type store struct {
	dir  string
	log  *slog.Logger
	lock *os.File

	generation uint64 // of both files
	journal    *os.File
	size       int64     // of the journal
	limit      int64     // of size
	taken      time.Time // time of the last snapshot
	stale      bool      // the journal lacks changes: a snapshot is required
}

// openStore creates the folder and locks it.
func openStore(dir string, log *slog.Logger) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the usage directory: %w", err)
	}
	lock, err := scratch.LockFile(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("lock usage directory %q: %w", dir, err)
	}
	return &store{dir: dir, log: log, lock: lock, limit: maxJournal, stale: true}, nil
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

// load passes each batch of the files to take. After damage, the rest of a file is
// skipped with a warning, and so is a file that cannot be read. It returns when counting
// began; zero if there are no files.
func (s *store) load(take func(batch) error) time.Time {
	snapshot := s.read(snapshotName, 1, take)
	journal := s.read(journalName, snapshot.Generation, take)
	s.generation = max(snapshot.Generation, journal.Generation)
	if snapshot.Since.IsZero() {
		return journal.Since
	}
	return snapshot.Since
}

// read reads one file, unless it is older than a generation.
func (s *store) read(name string, oldest uint64, take func(batch) error) head {
	f, err := os.Open(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return head{}
	}
	if err != nil {
		s.log.Warn("cannot read the usage file; its counts are lost", "file", s.path(name), "error", err)
		return head{}
	}
	defer f.Close()
	h, err := readFile(f, oldest, take)
	switch {
	case err == nil:
	case errors.Is(err, errTorn) && name == journalName:
		s.log.Info("the last counts of the previous run are lost", "file", f.Name())
	default:
		s.log.Warn("the usage file is damaged; counts up to the damage are used", "file", f.Name(), "copy", f.Name()+setAside,
			"error", err)
		if err := s.copyAside(f); err != nil {
			s.log.Warn("cannot copy the damaged usage file; the next snapshot replaces it", "file", f.Name(), "error", err)
		}
	}
	return h
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

// append appends a batch to the journal in one write and reports whether it did; if
// not, the store is stale.
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

// snapshot replaces both files: the snapshot by one with everything, the journal by an
// empty one. After a crash between the two, the journal has the old generation and is
// ignored.
func (s *store) snapshot(everything []batch, since, now time.Time) error {
	s.stale = true // until everything has succeeded
	h := head{Format: format, Generation: s.generation + 1, Since: since}
	if err := s.writeSnapshot(h, everything); err != nil {
		return fmt.Errorf("write a snapshot of usage: %w", err)
	}
	s.generation = h.Generation
	if err := s.newJournal(h); err != nil {
		return fmt.Errorf("create a journal of usage: %w", err)
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
	return disk.SyncDir(s.dir)
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
		s.journal.Close() // the snapshot includes it
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

// close closes the journal and unlocks the folder.
func (s *store) close() error {
	var err error
	if s.journal != nil {
		err = errors.Join(s.journal.Sync(), s.journal.Close())
	}
	return errors.Join(err, s.lock.Close())
}

// split splits a batch into batches of at most n items of each kind, to bound the size
// of records.
func (b batch) split(n int) []batch {
	var out []batch
	for !b.empty() {
		out = append(out, batch{
			cut(&b.Usage, n), cut(&b.Tools, n), cut(&b.Hits, n), cut(&b.Models, n), cut(&b.Pairs, n),
			cut(&b.Calls, n), cut(&b.Searches, n),
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

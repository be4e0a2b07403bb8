package snapshots

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// task is the name of writes in [tables.State.Note].
const task = "snapshot"

// queued is a version that waits to be written. Its resources are held.
type queued struct {
	Target
	version *tables.Version
}

// last is the last attempt to write a snapshot of a table.
type last struct {
	at          time.Time
	location    string
	declaration string
	name, sum   string // of the last one that was written, and of its rows
}

// Write queues a version that is served, in place of one that waits. It must be called
// while the version is held.
func (s *Snapshots) Write(t Target, v *tables.Version) {
	if t.Acceleration == nil || !t.Acceleration.Snapshots.Writes() || v.Copy == nil || v.Restored {
		return
	}
	key := tables.Key(t.Relation)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.location == nil {
		return
	}
	v.Copy.Retain()
	if old := s.queue[key]; old != nil {
		s.unused = append(s.unused, old.version.Copy.Resource)
	}
	s.queue[key] = &queued{t, v}
	s.poke()
}

// Keep drops what is queued of tables other than those that are served, by [tables.Key].
func (s *Snapshots) Keep(served map[string]*tables.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, q := range s.queue {
		if served[key] != q.Table {
			s.unused = append(s.unused, q.version.Copy.Resource)
			delete(s.queue, key)
		}
	}
	maps.DeleteFunc(s.last, func(key string, _ last) bool { return served[key] == nil })
	s.poke()
}

// free releases what is no longer queued: who calls Write and Keep publishes, and must not
// wait for DuckDB.
func (s *Snapshots) free() {
	s.mu.Lock()
	unused := s.unused
	s.unused = nil
	s.mu.Unlock()
	resource.Release(unused...)
}

func (s *Snapshots) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run writes what is queued, one after the other.
func (s *Snapshots) run(ctx context.Context) {
	for ctx.Err() == nil {
		s.free()
		q, next := s.next()
		if q != nil {
			s.writeOne(ctx, q)
			continue
		}
		var due <-chan time.Time
		if !next.IsZero() {
			due = s.Clock.At(next)
		}
		select {
		case <-due:
		case <-s.wake:
		case <-ctx.Done():
		}
	}
}

// next takes what is due, or returns when the first is; the zero time if nothing is queued.
func (s *Snapshots) next() (q *queued, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	first, wait := "", time.Duration(0)
	for key, q := range s.queue {
		left := time.Duration(0)
		if before, ok := s.last[key]; ok {
			left = max(before.at.Add(q.Acceleration.SnapshotGap()).Sub(now), 0)
		}
		if first == "" || left < wait || left == wait && key < first {
			first, wait = key, left
		}
	}
	if s.writing = first != "" && wait == 0; !s.writing {
		if len(s.queue) == 0 && len(s.unused) == 0 {
			s.idle.Broadcast()
		}
		if first == "" {
			return nil, at
		}
		return nil, now.Add(wait)
	}
	q = s.queue[first]
	delete(s.queue, first)
	return q, at
}

// writeOne writes a snapshot, and records how that ended.
func (s *Snapshots) writeOne(ctx context.Context, q *queued) {
	started := s.Clock.Now()
	outcome, err := s.write(ctx, q)
	resource.Release(q.version.Copy.Resource)
	if ctx.Err() == nil && outcome != "" {
		if err != nil {
			s.Log.Warn("cannot write a snapshot; the next refresh tries again", q.Kind, q.Name, "error", err)
			err = fmt.Errorf("the snapshot could not be written: %w", err)
		} else {
			q.State.SetSnapshot(started)
			s.Log.Info("snapshot "+string(outcome), q.Kind, q.Name, "took", s.Clock.Now().Sub(started))
		}
		q.State.Note(task, err)
		s.Ended(ctx, q.Table, outcome)
	}
}

// write writes a snapshot. Its error has no secret, and no path.
func (s *Snapshots) write(ctx context.Context, q *queued) (Outcome, error) {
	l, folder, ok := s.place(q.Table)
	if !ok {
		return "", nil // a reload has removed the location
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	key := tables.Key(q.Relation)
	s.mu.Lock()
	before := s.last[key]
	s.last[key] = last{s.Clock.Now(), l.id, q.Declaration, "", ""}
	s.mu.Unlock()
	m, file, err := s.export(ctx, q)
	if file != nil {
		defer os.Remove(file.Name())
		defer file.Close()
	}
	if err != nil {
		return NotWritten, q.Redact(s.withoutDir(err))
	}
	name := newName(m.Created)
	same := false
	if before.location == l.id && before.declaration == q.Declaration && before.sum == m.SHA256 &&
		q.Acceleration.SnapshotsCreationPolicy != spicepod.SnapshotAlways {
		if same, err = isNewest(ctx, folder, before.name); same {
			name = before.name
		}
	}
	if err == nil && !same {
		err = upload(ctx, folder, name, m, file)
	}
	if err != nil {
		return NotWritten, ofStore(s.withoutDir(err))
	}
	s.mu.Lock()
	s.last[key] = last{s.Clock.Now(), l.id, q.Declaration, name, m.SHA256}
	s.mu.Unlock()
	if same {
		return Unchanged, nil
	}
	if err := cleanup(ctx, func(ctx context.Context) error { return trim(ctx, folder, l.keep) }); err != nil {
		s.Log.Warn("cannot remove old snapshots", q.Kind, q.Name, "error", ofStore(err))
	}
	return Written, nil
}

// withoutDir removes the folder of temporary files from an error, whose rest is about the
// rows or the store.
func (s *Snapshots) withoutDir(err error) error {
	var f *fault.Fault
	if errors.As(err, &f) || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), s.Dir) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), s.Dir+string(filepath.Separator), ""))
}

// temporary makes an empty file, which the next start removes if this one does not.
func (s *Snapshots) temporary() (*os.File, error) {
	file, err := os.CreateTemp(s.Dir, "snapshot-*"+rowsEnd)
	if err != nil {
		return nil, s.withoutDir(err)
	}
	return file, nil
}

// scan returns the SQL of a Parquet file as a table.
func scan(path string) string {
	return "read_parquet(" + engine.Literal(fileformat.EscapeGlob(path)) +
		", hive_partitioning = false, union_by_name = false, filename = false)"
}

// export writes the rows of a version to a file, which the caller removes, and describes it.
func (s *Snapshots) export(ctx context.Context, q *queued) (*manifest, *os.File, error) {
	columns, err := tables.Describe(ctx, s.DB, "FROM "+q.version.Rows)
	if err != nil {
		return nil, nil, err
	}
	m := &manifest{
		Format: formatVersion, Dataset: q.Name, Declaration: q.Declaration, Created: s.Clock.Now().UTC(),
		Refreshed: q.version.Stats.Refreshed.UTC(), Changed: q.version.Changed.UTC(), Source: q.version.Format,
	}
	if m.Columns, err = describeColumns(columns); err != nil {
		return nil, nil, err
	}
	file, err := s.temporary()
	if err != nil {
		return nil, nil, err
	}
	err = s.DB.Exec(ctx, "COPY ("+writeQuery(columns, q.version.Rows)+") TO "+engine.Literal(file.Name())+
		" (FORMAT parquet, COMPRESSION zstd)")
	if err != nil {
		return nil, file, err
	}
	if err := s.measure(ctx, q, columns, m, file.Name()); err != nil {
		return nil, file, err
	}
	written, err := os.Open(file.Name()) // DuckDB may have replaced it
	if err != nil {
		return nil, file, err
	}
	file.Close()
	sum := sha256.New()
	if m.Bytes, err = io.Copy(sum, written); err != nil {
		return nil, written, err
	}
	m.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if m.Bytes > s.MaxBytes {
		return nil, written, fault.New("acceleration.snapshots",
			"leave acceleration.snapshots out, or store fewer rows with refresh_sql",
			"it has %d bytes, and at most %d are loaded", m.Bytes, s.MaxBytes)
	}
	return m, written, nil
}

// measure sets the number of rows of a file, and its newest time.
func (s *Snapshots) measure(ctx context.Context, q *queued, columns []engine.Column, m *manifest, path string) error {
	newest := "NULL"
	if at := slices.IndexFunc(columns, func(c engine.Column) bool {
		return strings.EqualFold(c.Name, q.Time.Column)
	}); at >= 0 && !slices.Contains(asText, columns[at].Type.ID) {
		newest = "max(" + engine.Identifier(columns[at].Name) + ")"
	}
	return tables.Query(ctx, s.DB, "SELECT count(*), CAST("+newest+" AS VARCHAR) FROM "+scan(path), func(c *engine.Chunk) {
		m.Rows = engine.Value[int64](c.Column(0), 0)
		if c.Column(1).Valid(0) {
			m.Newest = string(c.Column(1).Bytes(0))
		}
	})
}

// isNewest reports whether the newest snapshot of a folder has a name: others may write
// there, or remove it.
func isNewest(ctx context.Context, folder objectstore.Area, name string) (bool, error) {
	names, err := list(ctx, folder)
	return len(names) > 0 && names[0] == name, err
}

// upload stores the rows, and then the manifest, by which they become a snapshot.
func upload(ctx context.Context, folder objectstore.Area, name string, m *manifest, rows *os.File) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if len(text) > maxManifest {
		return fault.New("acceleration.snapshots",
			"leave acceleration.snapshots out, or store fewer columns with refresh_sql",
			"its columns take %d bytes to describe, and at most %d are loaded", len(text), maxManifest)
	}
	if err = folder.Put(ctx, name+rowsEnd, rows, m.Bytes); err == nil {
		err = folder.Put(ctx, name+manifestEnd, bytes.NewReader(text), int64(len(text)))
	}
	if err != nil {
		// a later trim removes it
		_ = cleanup(ctx, func(ctx context.Context) error { return folder.Remove(ctx, name+rowsEnd) })
	}
	return err
}

// trim removes all but the newest snapshots of a folder.
func trim(ctx context.Context, folder objectstore.Area, keep int) error {
	objects, err := folder.List(ctx, maxObjects)
	if err != nil {
		return err
	}
	for _, key := range outdated(objects, keep) {
		if err := folder.Remove(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

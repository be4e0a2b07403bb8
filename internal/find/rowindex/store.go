package rowindex

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/bitmap"
	"github.com/spiced-sql/spiced/internal/kit/disk"
)

// manifestFile names the segments of the index. It is replaced as one, so that a crash leaves the
// index from before or the one after.
const manifestFile = "index.json"

// manifest is the contents of manifestFile.
type manifest struct {
	Identity string            `json:"identity"`
	Columns  []Column          `json:"columns"`
	Version  string            `json:"version"`
	ReadAt   int64             `json:"read_at"`
	Missing  Missing           `json:"missing"`
	Next     int               `json:"next"` // number of the next file
	Segments []manifestSegment `json:"segments"`
}

// Missing is what of the rows that were read an index does not have.
type Missing struct {
	Partial  []uint64 `json:"partial,omitempty"`  // keys of rows with a text that it has only the beginning of
	Repeated int      `json:"repeated,omitempty"` // rows whose key another row has
	NoKey    int      `json:"no_key,omitempty"`   // rows that have a NULL in their key
}

type manifestSegment struct {
	File string `json:"file"`
	Live string `json:"live,omitempty"` // base64 of the bits of rows that are in the table; "": all
}

// Store keeps the index of a table in a folder. It is safe for concurrent use; one update runs at
// a time.
type Store struct {
	columns  []Column
	identity string
	files    *files

	mu      sync.Mutex
	current *Index
	next    int
}

// Open opens the index of a folder, or makes the folder. An index of other columns, or of another
// identity (which names how keys and texts are hashed), is removed. damaged tells why one that is
// not as it was written was removed.
func Open(folder string, columns []Column, identity string) (s *Store, damaged, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, err
	}
	s = &Store{columns: columns, identity: identity, files: &files{folder: folder, holders: map[*segment]int{}}}
	var m manifest
	switch err := disk.ReadJSON(s.files.path(manifestFile), &m); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		damaged = err
	case m.Identity == identity && reflect.DeepEqual(m.Columns, columns):
		if s.current, damaged = s.load(m); damaged == nil {
			s.next = m.Next
		}
	}
	if s.current == nil {
		m = manifest{}
	}
	return s, damaged, s.files.keep(m.files())
}

// files are the files of an index with the manifest; none of the zero manifest.
func (m manifest) files() map[string]bool {
	names := map[string]bool{manifestFile: m.Identity != ""}
	for _, s := range m.Segments {
		names[s.File] = true
	}
	return names
}

// load maps the segments of a manifest.
func (s *Store) load(m manifest) (*Index, error) {
	segments, failed := make([]*segment, len(m.Segments)), make([]error, len(m.Segments))
	parallel(len(segments), func(i int) { segments[i], failed[i] = s.files.open(m.Segments[i].File, s.columns) })
	err := errors.Join(failed...)
	live := []bool{}
	for i := 0; err == nil && i < len(segments); i++ {
		var rows []bool
		rows, err = m.Segments[i].rows(segments[i].rowCount())
		live = append(live, rows...)
	}
	if err != nil {
		for _, seg := range segments {
			if seg != nil {
				seg.unmap()
			}
		}
		return nil, err
	}
	bits := bitmap.New(len(live))
	for row, in := range live {
		if in {
			bits.Add(row)
		}
	}
	ix := newIndex(s.columns, segments, bits, s.files)
	ix.version, ix.at, ix.missing = m.Version, m.ReadAt, m.Missing
	return ix, nil
}

// rows returns which of n rows are in the table.
func (m manifestSegment) rows(n int) ([]bool, error) {
	rows := make([]bool, n)
	if m.Live == "" {
		for i := range rows {
			rows[i] = true
		}
		return rows, nil
	}
	bits, err := base64.StdEncoding.DecodeString(m.Live)
	if err != nil || len(bits) != (n+7)/8 {
		return nil, fmt.Errorf("%s: %w: %s has no bit for each row", manifestFile, errDamaged, m.File)
	}
	for i := range rows {
		rows[i] = bits[i/8]&(1<<(i%8)) != 0
	}
	return rows, nil
}

// Current returns the index, held for the caller; nil before the first update.
func (s *Store) Current() *Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || !s.current.Hold() {
		return nil
	}
	return s.current
}

// Clear removes the index. Searches that hold it end as they began.
func (s *Store) Clear() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.Release()
		s.current = nil
	}
	return s.files.keep(nil)
}

// Close releases the files.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.Release()
		s.current = nil
	}
}

// Update is the next state of an index in the making. Say of each row of the table whether it is
// known, and add it if not; then commit. The rows that are not mentioned are gone.
type Update struct {
	s      *Store
	base   *Index         // nil: none
	live   *bitmap.Bitmap // rows of base that are in the table
	build  *builder
	added  []*segment
	names  []string
	chunks int // of live and of those that were added
}

// Update begins an update.
func (s *Store) Update() *Update {
	u := &Update{s: s, base: s.Current(), build: newBuilder(s.columns)}
	if u.base != nil {
		u.live = bitmap.New(u.base.live.Size())
	}
	return u
}

// Known reports whether the index has a row with this key and these hashes of texts, which then
// stays in the index. Of rows that are equal, each must be asked about.
func (u *Update) Known(key uint64, hashes []uint64) (known bool) {
	if u.base == nil {
		return false
	}
	u.base.table.each(key, func(row int) {
		if known || u.live.Has(row) {
			return
		}
		number, local := u.base.locate(row)
		seg := u.base.segments[number]
		for i, hash := range hashes {
			if seg.hashes[i][local] != hash {
				return
			}
		}
		u.live.Add(row)
		for i := range seg.fields {
			from, to := seg.fields[i].chunksOf(local)
			u.chunks += to - from
		}
		known = true
	})
	return known
}

// Chunks returns how many chunks the next index has by now.
func (u *Update) Chunks() int { return u.chunks }

// Add adds a row.
func (u *Update) Add(a Analysis) error {
	u.chunks += a.chunks()
	return u.add(&a.row)
}

func (u *Update) add(row *analysed) error {
	for i := range row.fields {
		if n := len(row.fields[i]); n > MaxRowChunks {
			return fmt.Errorf("a text in column %s has %d chunks; the limit is %d", u.s.columns[i].Name, n, MaxRowChunks)
		}
	}
	if !u.build.fits(row) {
		if err := u.flush(); err != nil {
			return err
		}
	}
	u.build.add(row)
	return nil
}

// MaxRowChunks is how many chunks a text may have.
const MaxRowChunks = 1 << 14

// flush writes a segment.
func (u *Update) flush() error {
	if len(u.build.keys) == 0 {
		return nil
	}
	data, err := u.build.encode()
	if err != nil {
		return err
	}
	u.s.mu.Lock()
	u.s.next++
	name := fmt.Sprintf("%08d.rows", u.s.next)
	u.s.mu.Unlock()
	if err := u.s.files.write(name, data); err != nil {
		return err
	}
	u.names = append(u.names, name)
	seg, err := u.s.files.open(name, u.s.columns)
	if err != nil {
		return err
	}
	u.added = append(u.added, seg)
	u.build = newBuilder(u.s.columns)
	return nil
}

// Abort ends an update without an index.
func (u *Update) Abort() {
	for _, seg := range u.added {
		seg.unmap()
	}
	u.remove()
	if u.base != nil {
		u.base.Release()
	}
}

// remove removes the files that the update wrote. What cannot be removed now, the next update
// removes.
func (u *Update) remove() {
	for _, name := range u.names {
		_ = os.Remove(u.s.files.path(name))
	}
}

// Commit makes the next index the current one. version is that of the table's data, at is when it
// was read, missing what the index does not have of it.
func (u *Update) Commit(version string, at time.Time, missing Missing) error {
	kept, err := u.compact()
	if err == nil {
		err = u.flush()
	}
	if err != nil {
		u.Abort()
		return err
	}
	m := manifest{Identity: u.s.identity, Columns: u.s.columns, Version: version, ReadAt: at.UnixNano(), Missing: missing}
	var segments []*segment
	var live []bool
	for _, i := range kept {
		seg := u.base.segments[i]
		bits, all := make([]byte, (seg.rowCount()+7)/8), true
		for row := range seg.rowCount() {
			in := u.live.Has(u.base.bases[i] + row)
			live = append(live, in)
			if all = all && in; in {
				bits[row/8] |= 1 << (row % 8)
			}
		}
		entry := manifestSegment{File: seg.file}
		if !all {
			entry.Live = base64.StdEncoding.EncodeToString(bits)
		}
		segments, m.Segments = append(segments, seg), append(m.Segments, entry)
	}
	for _, seg := range u.added {
		for range seg.rowCount() {
			live = append(live, true)
		}
		segments, m.Segments = append(segments, seg), append(m.Segments, manifestSegment{File: seg.file})
	}
	bits := bitmap.New(len(live))
	for row, in := range live {
		if in {
			bits.Add(row)
		}
	}
	ix := newIndex(u.s.columns, segments, bits, u.s.files)
	ix.version, ix.at, ix.missing = version, m.ReadAt, missing
	return u.publish(ix, m)
}

// publish writes the manifest and makes the index the current one.
func (u *Update) publish(ix *Index, m manifest) error {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	m.Next = u.s.next
	err := disk.WriteJSON(u.s.files.path(manifestFile), m)
	if err == nil {
		err = disk.SyncDir(u.s.files.folder)
	}
	if u.base != nil {
		u.base.Release()
	}
	if err != nil {
		ix.Release()
		u.remove()
		return err
	}
	if u.s.current != nil {
		u.s.current.Release()
	}
	u.s.current = ix
	return u.s.files.keep(m.files())
}

// Bounds of what an update writes again.
const (
	goneShare     = 3  // a segment is written again if more than one in so many rows is gone
	smallShare    = 4  // a segment is small if it has less than one in so many of the chunks that it may have
	smallSegments = 16 // small segments beyond so many are written again as few
)

// compact writes the live rows of old segments into new ones where that is worth it, and returns
// the numbers of the segments that stay.
func (u *Update) compact() (kept []int, err error) {
	if u.base == nil {
		return nil, nil
	}
	var small []int
	for i, seg := range u.base.segments {
		live, chunks := 0, 0
		for row := range seg.rowCount() {
			if u.live.Has(u.base.bases[i] + row) {
				live++
			}
		}
		for k := range seg.fields {
			chunks = max(chunks, len(seg.fields[k].rows))
		}
		switch gone := seg.rowCount() - live; {
		case live == 0:
		case gone*goneShare > seg.rowCount():
			if err := u.rewrite(i); err != nil {
				return nil, err
			}
		case max(chunks, seg.rowCount())*smallShare < MaxSegmentChunks:
			small = append(small, i)
		default:
			kept = append(kept, i)
		}
	}
	if len(small) <= smallSegments {
		kept = append(kept, small...)
		slices.Sort(kept)
		return kept, nil
	}
	for _, i := range small {
		if err := u.rewrite(i); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// rewrite adds the live rows of a segment.
func (u *Update) rewrite(number int) error {
	seg := u.base.segments[number]
	for row := range seg.rowCount() {
		if u.live.Has(u.base.bases[number] + row) {
			r := seg.row(row)
			if err := u.add(&r); err != nil {
				return err
			}
		}
	}
	return nil
}

// row returns a row in the form in which it was added.
func (s *segment) row(row int) analysed {
	out := analysed{
		key: s.keys[row], name: string(s.name[s.names[row]:s.names[row+1]]),
		hashes: make([]uint64, len(s.fields)), fields: make([][]analysedChunk, len(s.fields)),
	}
	for i := range s.fields {
		f := &s.fields[i]
		out.hashes[i] = s.hashes[i][row]
		from, to := f.chunksOf(row)
		for chunk := from; chunk < to; chunk++ {
			c := analysedChunk{start: int(f.starts[chunk]), end: int(f.ends[chunk])}
			f.words(chunk, func(term uint32, gap bool) {
				if gap && len(c.words) > 0 {
					c.words = append(c.words, 0)
				}
				c.words = append(c.words, f.of[term])
			})
			if f.dimensions > 0 {
				c.vector, c.scale = f.vector(chunk), f.scales[chunk]
			}
			out.fields[i] = append(out.fields[i], c)
		}
	}
	return out
}

// Bytes returns the size of the files.
func (s *Store) Bytes() (size int64) {
	if ix := s.Current(); ix != nil {
		for _, seg := range ix.segments {
			size += int64(len(seg.data))
		}
		ix.Release()
	}
	return size
}

// Has reports whether the columns of the index are these.
func (s *Store) Has(columns []Column) bool { return reflect.DeepEqual(s.columns, columns) }

// Memory makes an index in memory, of few rows.
type Memory struct {
	columns  []Column
	build    *builder
	segments []*segment
	chunks   int
}

// NewMemory returns a Memory for rows with these columns.
func NewMemory(columns []Column) *Memory {
	return &Memory{columns: columns, build: newBuilder(columns)}
}

// Known is false: each row must be added.
func (m *Memory) Known(uint64, []uint64) bool { return false }

// Chunks returns how many chunks the index has by now.
func (m *Memory) Chunks() int { return m.chunks }

// Add adds a row.
func (m *Memory) Add(a Analysis) error {
	m.chunks += a.chunks()
	if !m.build.fits(&a.row) {
		if err := m.flush(); err != nil {
			return err
		}
	}
	m.build.add(&a.row)
	return nil
}

func (m *Memory) flush() error {
	data, err := m.build.encode()
	if err != nil {
		return err
	}
	seg, err := decode("", data, m.columns)
	if err != nil {
		return err
	}
	seg.unmap = func() {}
	m.segments, m.build = append(m.segments, seg), newBuilder(m.columns)
	return nil
}

// Index returns the index of the rows.
func (m *Memory) Index(missing Missing) (*Index, error) {
	if err := m.flush(); err != nil {
		return nil, err
	}
	rows := 0
	for _, seg := range m.segments {
		rows += seg.rowCount()
	}
	ix := newIndex(m.columns, m.segments, bitmap.Full(rows), &files{holders: map[*segment]int{}})
	ix.missing = missing
	return ix, nil
}

package rowindex

import (
	"math/bits"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/kit/bitmap"
)

// Index is the state of a table's rows at one moment. It is immutable and safe for concurrent
// use. Release it when no search uses it.
type Index struct {
	columns  []Column
	segments []*segment
	bases    []int          // of each segment: the number of its first row
	live     *bitmap.Bitmap // rows that are in the table
	rows     int            // of live
	table    table
	chunks   int // of live rows
	version  string
	at       int64 // nanoseconds since 1970: when the rows were read
	missing  Missing

	files   *files // the files, which stay mapped as long as an index uses them
	holders atomic.Int64
}

// Rows returns how many rows there are.
func (ix *Index) Rows() int { return ix.rows }

// Chunks returns how many chunks they have.
func (ix *Index) Chunks() int { return ix.chunks }

// Version is the version of the table's data that was read; see [Update.Commit].
func (ix *Index) Version() string { return ix.version }

// ReadAt returns when the rows were read, in nanoseconds since 1970.
func (ix *Index) ReadAt() int64 { return ix.at }

// Missing returns what of the rows that were read the index does not have.
func (ix *Index) Missing() Missing { return ix.missing }

// Columns returns the searched columns.
func (ix *Index) Columns() []Column { return ix.columns }

// locate returns the segment of a row and its number there.
func (ix *Index) locate(row int) (segment, local int) {
	lo, hi := 0, len(ix.bases)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; ix.bases[mid] <= row {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, row - ix.bases[lo]
}

// Rowset is a set of rows of an index.
type Rowset struct {
	ix   *Index
	bits *bitmap.Bitmap
}

// NewRowset returns an empty set.
func (ix *Index) NewRowset() *Rowset { return &Rowset{ix, bitmap.New(ix.live.Size())} }

// Add adds the rows with a key.
func (r *Rowset) Add(key uint64) {
	r.ix.table.each(key, func(row int) { r.bits.Add(row) })
}

// AddText adds the rows with a key whose text in a column has the hash: those that the caller sees
// as the index read them.
func (r *Rowset) AddText(key uint64, column int, hash uint64) {
	r.ix.table.each(key, func(row int) {
		if s, local := r.ix.locate(row); r.ix.segments[s].hashes[column][local] == hash {
			r.bits.Add(row)
		}
	})
}

// Len returns the number of rows.
func (r *Rowset) Len() int { return r.bits.Count() }

// table finds rows by the hashes of their keys: open addressing with linear probing, at most two
// thirds full. Rows with one key are in one run of slots.
type table struct {
	slots []slot
	shift int
}

type slot struct {
	key uint64
	row uint32 // + 1; 0: empty
}

func newTable(rows int) table {
	size := 1 << bits.Len(uint(rows+rows/2))
	return table{make([]slot, size), 64 - bits.TrailingZeros(uint(size))}
}

// at is the first slot of a key: the high bits of the product, so that keys that differ in a few
// bits, and those that others chose, spread.
func (t table) at(key uint64) int { return int(key * 0x9E3779B97F4A7C15 >> t.shift) }

func (t table) add(key uint64, row int) {
	for i := t.at(key); ; i = (i + 1) & (len(t.slots) - 1) {
		if t.slots[i].row == 0 {
			t.slots[i] = slot{key, uint32(row) + 1}
			return
		}
	}
}

func (t table) each(key uint64, do func(row int)) {
	if len(t.slots) == 0 {
		return
	}
	for i := t.at(key); t.slots[i].row != 0; i = (i + 1) & (len(t.slots) - 1) {
		if t.slots[i].key == key {
			do(int(t.slots[i].row) - 1)
		}
	}
}

// newIndex returns an index of segments. live has the rows that are in the table.
func newIndex(columns []Column, segments []*segment, live *bitmap.Bitmap, f *files) *Index {
	ix := &Index{columns: columns, segments: segments, live: live, rows: live.Count(), files: f}
	n := 0
	for _, s := range segments {
		ix.bases = append(ix.bases, n)
		n += s.rowCount()
	}
	ix.table = newTable(ix.rows)
	for i, s := range segments {
		for row, key := range s.keys {
			if live.Has(ix.bases[i] + row) {
				ix.table.add(key, ix.bases[i]+row)
			}
		}
		for k := range s.fields {
			for _, row := range s.fields[k].rows {
				if live.Has(ix.bases[i] + int(row)) {
					ix.chunks++
				}
			}
		}
	}
	ix.holders.Store(1)
	for _, s := range segments {
		f.hold(s)
	}
	return ix
}

// Hold keeps the files of the index until one more Release. It is false if they are released
// already.
func (ix *Index) Hold() bool {
	for {
		n := ix.holders.Load()
		if n == 0 {
			return false
		}
		if ix.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives up a hold. The last one unmaps the files that no other index uses.
func (ix *Index) Release() {
	if ix.holders.Add(-1) == 0 {
		for _, s := range ix.segments {
			ix.files.release(s)
		}
	}
}

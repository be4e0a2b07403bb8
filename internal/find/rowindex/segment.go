package rowindex

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	mathbits "math/bits"
	"slices"
	"sync"
	"unsafe"
)

// MaxSegmentChunks is how many chunks of one column a segment has at most, so that their numbers
// take 16 bits. It has at most as many rows.
const MaxSegmentChunks = 1 << 16

// A segment's file is, with all numbers in little endian: the magic; the length of the header and
// its text, JSON; the sections in its order, each at a multiple of 8 bytes from the start; the
// CRC-32C of everything before it.
const magic = "spiced rows 1\n\x00\x00"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the beginning of a segment's file.
type header struct {
	Rows     int              `json:"rows"`
	Fields   []fieldHeader    `json:"fields"`
	Sections map[string][]int `json:"sections"` // offset and length in bytes
}

type fieldHeader struct {
	Chunks     int `json:"chunks"`
	Dimensions int `json:"dimensions,omitempty"`
}

// segment is the contents of a file. It is immutable.
type segment struct {
	file   string
	data   []byte // all of the file, mapped
	unmap  func()
	keys   []uint64 // of each row: the hash of its key
	names  []uint32 // of each row: where the texts of its key begin in nameText; and the end
	name   []byte
	hashes [][]uint64 // of each field, of each row: the hash of the text
	fields []field
}

// field is the chunks of one column in a segment.
type field struct {
	rows   []uint16 // of each chunk, ascending
	starts []uint32 // of each chunk: where it begins in the text
	ends   []uint32
	length []uint16 // of each chunk: words that count
	total  int      // of length

	// Terms are numbered by how many chunks have them, most first.
	hashes   []uint64 // of all terms, ascending
	ids      []uint32 // the term of each of hashes
	of       []uint64 // the hash of each term
	df       []uint32 // of each term: chunks
	postings []uint32 // of each term: where its postings begin; and the end
	posting  []byte   // see [field.each]
	once     sync.Once
	bits     [][]uint64 // see [field.dense]
	forwards []uint32   // of each chunk: where its words begin; and the end
	forward  []byte     // of each word in order: varint of its term + 1; 0 where words are left out

	dimensions int
	vectors    []int8    // of each chunk
	scales     []float32 // of each chunk: the length of vectors that have length 1 is 1/scale
}

func (s *segment) rowCount() int { return len(s.keys) }

// term returns the number of a term.
func (f *field) term(hash uint64) (id uint32, ok bool) {
	i, ok := slices.BinarySearch(f.hashes, hash)
	if !ok {
		return 0, false
	}
	return f.ids[i], true
}

// each calls do with each chunk that has a term, and how often. A posting is a varint of twice the
// distance to the chunk before, plus 1 if a varint with the count follows, which else is 1.
func (f *field) each(term uint32, do func(chunk, count int)) {
	b := f.posting[f.postings[term]:f.postings[term+1]]
	chunk := -1
	for len(b) > 0 {
		v, n := uvarint(b)
		b = b[n:]
		chunk += int(v >> 1)
		count := 1
		if v&1 != 0 {
			v, n = uvarint(b)
			b, count = b[n:], int(v)
		}
		if chunk < 0 || chunk >= len(f.rows) {
			return // a damaged file
		}
		do(chunk, count)
	}
}

// Terms that at least one in denseShare chunks has take as many bytes as postings as they do as bits.
// At most maxDense are kept as bits, 8 KB each.
const (
	denseShare = 16
	maxDense   = 1024
)

// dense returns the chunks of each of the most frequent terms as bits. They are made when they are
// first needed.
func (f *field) dense() [][]uint64 {
	f.once.Do(func() {
		for id := 0; id < min(len(f.df), maxDense) && int(f.df[id])*denseShare >= len(f.rows); id++ {
			bits := make([]uint64, (len(f.rows)+63)/64)
			f.each(uint32(id), func(chunk, _ int) { bits[chunk/64] |= 1 << (chunk % 64) })
			f.bits = append(f.bits, bits)
		}
	})
	return f.bits
}

// frequency is how many of the chunks with a bit have a term. It is [field.each] without a call for
// each chunk: a search counts more than it scores.
func (f *field) frequency(term uint32, bits []uint64) (n int) {
	if dense := f.dense(); int(term) < len(dense) {
		for i, word := range dense[term] {
			n += mathbits.OnesCount64(word & bits[i])
		}
		return n
	}
	b := f.posting[f.postings[term]:f.postings[term+1]]
	chunk := -1
	for len(b) > 0 {
		v, size := uint64(b[0]), 1
		if v >= 0x80 {
			v, size = uvarint(b)
		}
		b = b[size:]
		chunk += int(v >> 1)
		if v&1 != 0 {
			_, size = uvarint(b)
			b = b[size:]
		}
		if chunk < 0 || chunk/64 >= len(bits) {
			return n // a damaged file
		}
		n += int(bits[chunk/64] >> (chunk % 64) & 1)
	}
	return n
}

// words calls do with the terms of a chunk's words in order; gap means that words before it were
// left out.
func (f *field) words(chunk int, do func(term uint32, gap bool)) {
	b := f.forward[f.forwards[chunk]:f.forwards[chunk+1]]
	gap := true
	for len(b) > 0 {
		v, n := uvarint(b)
		b = b[n:]
		if v == 0 || v > uint64(len(f.of)) {
			gap = true
			continue
		}
		do(uint32(v-1), gap)
		gap = false
	}
}

// termCount is how often a chunk has a term.
type termCount struct{ term, count uint32 }

// counts returns the terms of a chunk in the order in which they are first there, so that sums over
// them are the same in each run.
func (f *field) counts(chunk int) (list []termCount) {
	at := map[uint32]int{}
	f.words(chunk, func(term uint32, _ bool) {
		i, known := at[term]
		if !known {
			i = len(list)
			at[term] = i
			list = append(list, termCount{term: term})
		}
		list[i].count++
	})
	return list
}

// chunksOf returns the chunks of a row.
func (f *field) chunksOf(row int) (from, to int) {
	from, _ = slices.BinarySearch(f.rows, uint16(row))
	for to = from; to < len(f.rows) && int(f.rows[to]) == row; to++ {
	}
	return from, to
}

// vector returns a chunk's vector, of length 1 times its scale.
func (f *field) vector(chunk int) []int8 {
	return f.vectors[chunk*f.dimensions : (chunk+1)*f.dimensions]
}

// uvarint is binary.Uvarint with a short way for small numbers. Of a damaged file, it is 0, and the
// length ends what is read.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, len(b)
	}
	return v, n
}

// builder makes a segment.
type builder struct {
	keys   []uint64
	names  []uint32
	name   []byte
	hashes [][]uint64
	fields []fieldBuilder
}

type fieldBuilder struct {
	field
	terms map[uint64]uint32 // by hash, in order of appearance
	seq   []uint32          // the words of all chunks: term + 1; 0 for a gap
	seqs  []uint32          // of each chunk: where its words begin
}

func newBuilder(columns []Column) *builder {
	b := &builder{hashes: make([][]uint64, len(columns)), fields: make([]fieldBuilder, len(columns))}
	for i, c := range columns {
		b.fields[i].terms = map[uint64]uint32{}
		b.fields[i].dimensions = c.Dimensions
	}
	return b
}

// fits reports whether the row's chunks fit.
func (b *builder) fits(r *analysed) bool {
	if len(b.keys) == MaxSegmentChunks {
		return false
	}
	for i := range b.fields {
		if len(b.fields[i].rows)+len(r.fields[i]) > MaxSegmentChunks {
			return false
		}
	}
	return true
}

// add adds a row that fits.
func (b *builder) add(r *analysed) {
	row := uint16(len(b.keys))
	b.keys = append(b.keys, r.key)
	b.names = append(b.names, uint32(len(b.name)))
	b.name = append(b.name, r.name...)
	for i := range b.fields {
		b.hashes[i] = append(b.hashes[i], r.hashes[i])
		for _, c := range r.fields[i] {
			b.fields[i].add(row, c)
		}
	}
}

func (f *fieldBuilder) add(row uint16, c analysedChunk) {
	f.rows = append(f.rows, row)
	f.starts, f.ends = append(f.starts, uint32(c.start)), append(f.ends, uint32(c.end))
	f.seqs = append(f.seqs, uint32(len(f.seq)))
	length := 0
	for _, hash := range c.words {
		if hash == 0 {
			f.seq = append(f.seq, 0)
			continue
		}
		id, known := f.terms[hash]
		if !known {
			id = uint32(len(f.terms))
			f.terms[hash] = id
		}
		f.seq = append(f.seq, id+1)
		length++
	}
	f.length = append(f.length, uint16(min(length, math.MaxUint16)))
	if f.dimensions > 0 {
		f.vectors = append(f.vectors, c.vector...)
		f.scales = append(f.scales, c.scale)
	}
}

// finish numbers the terms and makes the postings.
func (f *fieldBuilder) finish() {
	f.seqs = append(f.seqs, uint32(len(f.seq)))
	n := len(f.terms)
	df, last := make([]uint32, n), make([]int32, n)
	chunks := len(f.rows)
	for c := range chunks {
		for _, v := range f.seq[f.seqs[c]:f.seqs[c+1]] {
			if v != 0 && last[v-1] != int32(c+1) {
				last[v-1] = int32(c + 1)
				df[v-1]++
			}
		}
	}
	hashOf := make([]uint64, n)
	for hash, id := range f.terms {
		hashOf[id] = hash
	}
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(df[b], df[a]), cmp.Compare(hashOf[a], hashOf[b]))
	})
	number := make([]uint32, n)
	f.of, f.df = make([]uint64, n), make([]uint32, n)
	for id, old := range order {
		number[old] = uint32(id)
		f.of[id], f.df[id] = hashOf[old], df[old]
	}
	f.ids = slices.Clone(order)
	for i := range f.ids {
		f.ids[i] = uint32(i)
	}
	slices.SortFunc(f.ids, func(a, b uint32) int { return cmp.Compare(f.of[a], f.of[b]) })
	f.hashes = make([]uint64, n)
	for i, id := range f.ids {
		f.hashes[i] = f.of[id]
	}
	f.invert(number)
}

// invert writes the words of each chunk and the postings of each term. Occurrences are sorted by
// term by counting, so that it takes time in proportion to the words.
func (f *fieldBuilder) invert(number []uint32) {
	type occurrence struct {
		chunk uint16
		count uint32
	}
	starts := make([]uint32, len(f.df)+1)
	for id, n := range f.df {
		starts[id+1] = starts[id] + n
	}
	all := make([]occurrence, starts[len(f.df)])
	next := slices.Clone(starts)
	seen := make([]uint32, len(f.df)) // the occurrence of the chunk, + 1
	var buf [binary.MaxVarintLen64]byte
	for c := range f.rows {
		f.forwards = append(f.forwards, uint32(len(f.forward)))
		for _, v := range f.seq[f.seqs[c]:f.seqs[c+1]] {
			if v == 0 {
				f.forward = append(f.forward, 0)
				continue
			}
			id := number[v-1]
			f.forward = append(f.forward, buf[:binary.PutUvarint(buf[:], uint64(id)+1)]...)
			if at := seen[id]; at > starts[id] && all[at-1].chunk == uint16(c) {
				all[at-1].count++
				continue
			}
			all[next[id]] = occurrence{uint16(c), 1}
			next[id]++
			seen[id] = next[id]
		}
	}
	f.forwards = append(f.forwards, uint32(len(f.forward)))
	for id := range f.df {
		f.postings = append(f.postings, uint32(len(f.posting)))
		before := -1
		for _, o := range all[starts[id]:starts[id+1]] {
			v := uint64(int(o.chunk)-before) << 1
			before = int(o.chunk)
			if o.count > 1 {
				v |= 1
			}
			f.posting = append(f.posting, buf[:binary.PutUvarint(buf[:], v)]...)
			if o.count > 1 {
				f.posting = append(f.posting, buf[:binary.PutUvarint(buf[:], uint64(o.count))]...)
			}
		}
	}
	f.postings = append(f.postings, uint32(len(f.posting)))
}

// encode returns the segment's file.
func (b *builder) encode() ([]byte, error) {
	h := header{Rows: len(b.keys), Sections: map[string][]int{}}
	names := append(slices.Clone(b.names), uint32(len(b.name)))
	var body bytes.Buffer
	section := func(name string, data []byte) {
		for body.Len()%8 != 0 {
			body.WriteByte(0)
		}
		h.Sections[name] = []int{body.Len(), len(data)}
		body.Write(data)
	}
	section("keys", raw(b.keys))
	section("names", raw(names))
	section("name", b.name)
	for i := range b.fields {
		f := &b.fields[i]
		f.finish()
		h.Fields = append(h.Fields, fieldHeader{len(f.rows), f.dimensions})
		at := func(name string) string { return fmt.Sprintf("%d.%s", i, name) }
		section(at("texts"), raw(b.hashes[i]))
		for _, part := range f.parts() {
			section(at(part.name), part.get())
		}
	}
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	for len(head)%8 != 0 {
		head = append(head, ' ')
	}
	out := make([]byte, 0, len(magic)+8+len(head)+body.Len()+4)
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(head)))
	out = append(append(out, head...), body.Bytes()...)
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli)), nil
}

// part is a section of a field: how it is written, and read without copying it.
type part struct {
	name string
	get  func() []byte
	set  func([]byte) bool
}

func (f *field) parts() []part {
	return []part{
		partOf("rows", &f.rows), partOf("starts", &f.starts), partOf("ends", &f.ends), partOf("length", &f.length),
		partOf("hashes", &f.hashes), partOf("ids", &f.ids), partOf("of", &f.of), partOf("df", &f.df),
		partOf("postings", &f.postings), partOf("posting", &f.posting),
		partOf("forwards", &f.forwards), partOf("forward", &f.forward),
		partOf("vectors", &f.vectors), partOf("scales", &f.scales),
	}
}

type number interface {
	~int8 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32
}

func partOf[T number](name string, list *[]T) part {
	return part{
		name: name,
		get:  func() []byte { return raw(*list) },
		set:  func(b []byte) (ok bool) { *list, ok = view[T](b); return ok },
	}
}

// raw returns the bytes of numbers, in the order of this machine: little endian, as on all that
// the program is built for.
func raw[T number](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))
}

// view returns the numbers that bytes are. It is false if they are not whole numbers, or not where
// the machine can read them.
func view[T number](b []byte) ([]T, bool) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if len(b) == 0 {
		return nil, true
	}
	if len(b)%size != 0 || uintptr(unsafe.Pointer(&b[0]))%uintptr(size) != 0 {
		return nil, false
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/size), true
}

// errDamaged is the cause of errors of files that are not as they were written.
var errDamaged = errors.New("the file is damaged")

// decode reads a segment's file in place.
func decode(file string, data []byte, columns []Column) (*segment, error) {
	bad := func(what string) (*segment, error) { return nil, fmt.Errorf("%s: %w: %s", file, errDamaged, what) }
	if len(data) < len(magic)+12 || string(data[:len(magic)]) != magic {
		return bad("it does not begin as a segment does")
	}
	end := len(data) - 4
	if crc32.Checksum(data[:end], castagnoli) != binary.LittleEndian.Uint32(data[end:]) {
		return bad("its checksum is another one")
	}
	size := binary.LittleEndian.Uint64(data[len(magic):])
	body := data[len(magic)+8 : end]
	if size > uint64(len(body)) {
		return bad("the header is cut")
	}
	var h header
	if err := json.Unmarshal(body[:size], &h); err != nil || len(h.Fields) != len(columns) {
		return bad("the header cannot be read")
	}
	body = body[size:]
	s := &segment{file: file, data: data, fields: make([]field, len(columns)), hashes: make([][]uint64, len(columns))}
	ok := true
	section := func(name string, set func([]byte) bool) {
		at := h.Sections[name]
		if len(at) != 2 || at[0] < 0 || at[1] < 0 || at[0] > len(body) || at[1] > len(body)-at[0] {
			ok = false
			return
		}
		ok = set(body[at[0]:at[0]+at[1]:at[0]+at[1]]) && ok
	}
	section("keys", partOf("", &s.keys).set)
	section("names", partOf("", &s.names).set)
	section("name", partOf("", &s.name).set)
	for i := range columns {
		f := &s.fields[i]
		f.dimensions = h.Fields[i].Dimensions
		section(fmt.Sprintf("%d.texts", i), partOf("", &s.hashes[i]).set)
		for _, p := range f.parts() {
			section(fmt.Sprintf("%d.%s", i, p.name), p.set)
		}
		f.sum()
		ok = ok && f.dimensions == columns[i].Dimensions && f.whole(h.Fields[i].Chunks, h.Rows) &&
			len(s.hashes[i]) == h.Rows
	}
	if !ok || len(s.keys) != h.Rows || h.Rows > MaxSegmentChunks || len(s.names) != h.Rows+1 ||
		!ascends(s.names, len(s.name)) {
		return bad("its parts do not fit together")
	}
	return s, nil
}

func (f *field) sum() {
	for _, n := range f.length {
		f.total += int(n)
	}
}

// whole reports whether the lists of a field have the lengths that they must have, and numbers are
// those of what there is, so that reads stay inside of them. Postings and words are checked where
// they are read, and the checksum tells that the rest is as it was written.
func (f *field) whole(chunks, rows int) bool {
	terms := len(f.hashes)
	vectors := 0
	if f.dimensions > 0 {
		vectors = chunks
	}
	return len(f.rows) == chunks && len(f.starts) == chunks && len(f.ends) == chunks && len(f.length) == chunks &&
		len(f.ids) == terms && len(f.of) == terms && len(f.df) == terms && len(f.postings) == terms+1 &&
		len(f.forwards) == chunks+1 && ascends(f.postings, len(f.posting)) && ascends(f.forwards, len(f.forward)) &&
		len(f.vectors) == vectors*f.dimensions && len(f.scales) == vectors &&
		chunks <= MaxSegmentChunks && slices.IsSorted(f.rows) && (chunks == 0 || int(f.rows[chunks-1]) < rows) &&
		!slices.ContainsFunc(f.ids, func(id uint32) bool { return int(id) >= terms }) && f.placed()
}

// placed reports whether each chunk ends after it begins.
func (f *field) placed() bool {
	for i, start := range f.starts {
		if f.ends[i] < start {
			return false
		}
	}
	return true
}

// ascends reports whether offsets ascend to end.
func ascends(offsets []uint32, end int) bool {
	return len(offsets) > 0 && slices.IsSorted(offsets) && int(offsets[len(offsets)-1]) == end
}

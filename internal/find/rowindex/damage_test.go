package rowindex

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/bitmap"
)

// FuzzDecode damages a segment's file, corrects its checksum, and searches what was read: a file
// that another program wrote ends neither the process nor reads outside of what is mapped.
func FuzzDecode(f *testing.F) {
	columns := []Column{{Name: "title", Words: true}, {Name: "body", Words: true, Model: "m", Dimensions: 3}}
	b := newBuilder(columns)
	a := NewAnalyser(columns)
	rng := rand.New(rand.NewPCG(9, 10))
	for _, r := range randomRecords(rng, 70) {
		row := a.Analyse(r.row()).row
		b.add(&row)
	}
	whole, err := b.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{0})
	for range 300 {
		f.Add(rng.Uint32(), []byte{byte(rng.Uint32()), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}[:1+rng.IntN(9)])
	}
	f.Fuzz(func(t *testing.T, at uint32, with []byte) {
		data := append([]byte(nil), whole...)
		body := data[len(magic) : len(data)-4]
		copy(body[int(at)%len(body):], with)
		binary.LittleEndian.PutUint32(data[len(data)-4:], crc32.Checksum(data[:len(data)-4], castagnoli))
		s, err := decode("", data, columns)
		if err != nil {
			return
		}
		s.unmap = func() {}
		live := bitmap.Full(s.rowCount())
		ix := newIndex(columns, []*segment{s}, live, &files{holders: map[*segment]int{}})
		visible := ix.NewRowset()
		for i := range 40 {
			visible.Add(uint64(i))
		}
		for _, mode := range []Mode{Hybrid, Vector, Keyword} {
			for _, rows := range []*Rowset{nil, visible} {
				hits := ix.Search(Query{
					Text: "boundary layer of a wing in the flow", Mode: mode, Limit: 20, Visible: rows,
					Vectors: []Near{{1, []float32{.5, -.2, .1}, 1}},
				})
				for _, h := range hits {
					if h.Best.End < h.Best.Start {
						t.Errorf("a hit from %d to %d", h.Best.Start, h.Best.End)
					}
				}
			}
		}
		next := newBuilder(columns)
		for row := range s.rowCount() {
			if r := s.row(row); next.fits(&r) {
				next.add(&r)
			}
		}
		if _, err := next.encode(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzParse parses queries: their words are bounded, and have hashes.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "the of", "boundary layer boundary layer", "日本語の文", "getUserName_2", "\xff\xfe", "a\x00b"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, text, keyword string) {
		q := parse(text, []string{keyword})
		if len(q.terms) > maxTerms || len(q.pairs) > maxTerms {
			t.Errorf("%d words, %d pairs", len(q.terms), len(q.pairs))
		}
		for _, term := range q.terms {
			if term.hash == 0 || term.weight < 1 || term.weight > 2 {
				t.Errorf("%+v", term)
			}
		}
	})
}

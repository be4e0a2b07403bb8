package rowindex

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/find/words"
)

// Column is a searched column of a table.
type Column struct {
	Name string `json:"name"`
	// Words means that texts are found by their words.
	Words bool `json:"words,omitempty"`
	// Model identifies the embedding model and how texts are split for it; Dimensions is the length
	// of its vectors. 0: texts are not found by meaning.
	Model      string `json:"model,omitempty"`
	Dimensions int    `json:"dimensions,omitempty"`
	// Chunking identifies how texts are split.
	Chunking string `json:"chunking,omitempty"`
}

// Row is a row of a table as it is added.
type Row struct {
	Key    uint64   // hash of the columns that identify it
	Name   string   // the texts of these columns, see [Hit]
	Hashes []uint64 // of each searched column: the hash of its text
	// Texts are the chunks of each searched column.
	Texts [][]Text
}

// Text is a chunk of a text.
type Text struct {
	Start, End int       // bytes in the text
	Words      string    // the chunk with the headings above it; "" if the column is not searched by words
	Vector     []float32 // nil if the column has no model
}

// analysed is a row in the form in which a segment has it.
type analysed struct {
	key    uint64
	name   string
	hashes []uint64
	fields [][]analysedChunk
}

type analysedChunk struct {
	start, end int
	words      []uint64 // hashes of stems in order; 0 where words are left out
	vector     []int8
	scale      float32
}

// Analyser turns rows into what an index has of them. It remembers stems; use one for each
// goroutine.
type Analyser struct {
	columns []Column
	stems   map[string]uint64
}

// NewAnalyser returns an analyser for rows with these columns.
func NewAnalyser(columns []Column) *Analyser {
	return &Analyser{columns: columns, stems: map[string]uint64{}}
}

// maxStems bounds the memory of an analyser.
const maxStems = 1 << 17

// Analysis is an analysed row.
type Analysis struct{ row analysed }

// chunks returns how many chunks the row has.
func (a Analysis) chunks() (n int) {
	for _, chunks := range a.row.fields {
		n += len(chunks)
	}
	return n
}

// Analyse analyses a row. The texts are not retained.
func (a *Analyser) Analyse(r Row) Analysis {
	out := analysed{key: r.Key, name: r.Name, hashes: r.Hashes, fields: make([][]analysedChunk, len(a.columns))}
	for i, texts := range r.Texts {
		for _, t := range texts {
			c := analysedChunk{start: t.Start, end: t.End}
			if a.columns[i].Words {
				c.words = a.words(t.Words)
			}
			if n := a.columns[i].Dimensions; n > 0 {
				c.vector, c.scale = quantize(t.Vector, n)
			}
			out.fields[i] = append(out.fields[i], c)
		}
	}
	return Analysis{out}
}

// words returns the stems of a text. A word that is written in parts, such as getUserName, counts
// as its parts.
func (a *Analyser) words(text string) []uint64 {
	list := words.Split(text)
	out := make([]uint64, 0, len(list))
	for _, w := range list {
		if words.Stop(w.Text) {
			if n := len(out); n > 0 && out[n-1] != 0 {
				out = append(out, 0)
			}
			continue
		}
		out = append(out, a.stem(w.Text))
	}
	return out
}

func (a *Analyser) stem(text string) uint64 {
	if hash, known := a.stems[text]; known {
		return hash
	}
	if len(a.stems) == maxStems {
		clear(a.stems)
	}
	hash := stemHash(text)
	a.stems[strings.Clone(text)] = hash
	return hash
}

// stemHash is never 0, which means a gap.
func stemHash(text string) uint64 { return max(words.Hash(words.Stem(text)), 1) }

// Package semantic embeds texts by a table that is part of the program: a vector for each of
// about 27,000 word pieces, so that words of like meaning lie close. A text's vector is the
// weighted sum of those of its pieces: there is no network, no file and no model to run, and
// texts that share no word with a tool find it.
//
// The table is distilled from the sentence transformer all-MiniLM-L6-v2 by distill/distill.py,
// after Model2Vec (Tulkens and van Dongen, 2024) with rows that are trained further; NOTICE
// names its sources. internal/find/eval/MEASURED.md has what it is worth on catalogues that it was not
// trained with.
package semantic

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/find/embeddings/wordpiece"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// table.bin is, with all numbers in little endian: the magic, the numbers of rows and of
// dimensions and the size of the vocabulary as uint32; the vocabulary, a piece a line; the
// weight of each row as float32; the rows as int8. A row's weight makes its values those of a
// vector, and the vector of a stop word shorter than others.
//
//go:embed table.bin
var file string

const magic = "spiced semantic table 1\n"

// Dimensions is the length of the vectors of the program's table.
const Dimensions = 128

// maxBytes is how much of a text counts, as in training.
const maxBytes = 2000

// Weights of a tool's texts in its vector, as in training.
const (
	nameWeight        = 3
	descriptionWeight = 1
	parametersWeight  = .3
)

// Table has the vectors of word pieces.
type Table struct {
	pieces  *wordpiece.Vocabulary
	weights []float32 // by piece
	rows    string    // Dimensions numbers of a piece, int8
}

// Builtin returns the table of the program. The first call takes about 15 ms.
var Builtin = sync.OnceValue(func() *Table {
	t, err := Parse(file)
	if err != nil {
		panic("table.bin: " + err.Error()) // a part of the program; a test parses it
	}
	return t
})

var errTable = errors.New("not a table of word pieces for builtin:semantic")

// Parse reads a table. The rows stay in the text.
func Parse(text string) (*Table, error) {
	rest, ok := strings.CutPrefix(text, magic)
	if !ok || len(rest) < 12 {
		return nil, errTable
	}
	var head [3]int
	for i := range head {
		head[i] = int(binary.LittleEndian.Uint32([]byte(rest[4*i : 4*i+4])))
	}
	rest = rest[12:]
	n, dimensions, vocabulary := head[0], head[1], head[2]
	if dimensions != Dimensions || vocabulary > len(rest) || len(rest) != vocabulary+n*4+n*dimensions {
		return nil, fmt.Errorf("%w: %d bytes for %d rows of %d", errTable, len(rest), n, dimensions)
	}
	pieces := strings.Split(strings.TrimSuffix(rest[:vocabulary], "\n"), "\n")
	if len(pieces) != n {
		return nil, fmt.Errorf("%w: %d pieces for %d rows", errTable, len(pieces), n)
	}
	t := &Table{pieces: wordpiece.New(pieces), weights: make([]float32, n)}
	rest = rest[vocabulary:]
	for i := range t.weights {
		t.weights[i] = math.Float32frombits(binary.LittleEndian.Uint32([]byte(rest[4*i : 4*i+4])))
	}
	t.rows = rest[4*n:]
	return t, nil
}

// Text returns the vector of a text, of length 1; of a text without known pieces, zeros.
func (t *Table) Text(text string) []float32 {
	sum := make([]float32, Dimensions)
	t.add(sum, text, 1)
	return unit(sum)
}

// Tool returns the vector of a tool, of length 1: above all its name, and a little of the names
// of its parameters.
func (t *Table) Tool(name, description string, parameters []string) []float32 {
	sum := make([]float32, Dimensions)
	t.add(sum, name, nameWeight)
	t.add(sum, description, descriptionWeight)
	t.add(sum, strings.Join(parameters, " "), parametersWeight)
	return unit(sum)
}

// add adds the rows of a text's pieces. The root of a piece's count limits repeated words.
func (t *Table) add(sum []float32, text string, weight float32) {
	var pieces []int32
	wordpiece.Words(wordpiece.SplitNames(truncate.Bytes(text, maxBytes)), func(word string) {
		pieces, _ = t.pieces.Append(pieces, word)
	})
	slices.Sort(pieces)
	for from := 0; from < len(pieces); {
		p := pieces[from]
		end := from + 1
		for end < len(pieces) && pieces[end] == p {
			end++
		}
		factor := weight * t.weights[p] * float32(math.Sqrt(float64(end-from)))
		row := t.rows[int(p)*Dimensions:][:len(sum)]
		for i := range sum {
			sum[i] += factor * float32(int8(row[i]))
		}
		from = end
	}
}

func unit(sum []float32) []float32 {
	var squares float64
	for _, x := range sum {
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return sum
	}
	length := float32(math.Sqrt(squares))
	for i := range sum {
		sum[i] /= length
	}
	return sum
}

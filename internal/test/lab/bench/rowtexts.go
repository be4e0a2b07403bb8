package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/spiced-sql/spiced/internal/find/embeddings/semantic"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/find/words"
)

// rowDocuments are texts whose sentences the texts of rows are made of.
const rowDocuments = "../shared/retrieval/documents/documents.jsonl"

// rowWords is how many words a text of a row has about.
const rowWords = 100

// corpus makes the texts of rows: sentences of real documents in a new order, and a few rare words
// of a large vocabulary, such as names. Text and queries depend on their numbers alone.
type corpus struct {
	rows      int
	sentences []string
	from      string
}

// newCorpus reads the documents; without them, sentences are made up.
func newCorpus(rows int) (*corpus, error) {
	c := &corpus{rows: rows, from: " of sentences of the Cranfield collection"}
	f, err := os.Open(rowDocuments)
	if errors.Is(err, fs.ErrNotExist) {
		random := rand.New(rand.NewPCG(11, 12))
		for range 10_000 {
			c.sentences = append(c.sentences, sentence(random, 5+random.IntN(30)))
		}
		c.from = " of generated sentences"
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var d struct{ Content string }
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return nil, err
		}
		for part := range strings.SplitSeq(d.Content, " . ") {
			if len(strings.Fields(part)) > 3 {
				c.sentences = append(c.sentences, part)
			}
		}
	}
	return c, lines.Err()
}

// text returns the text of a row.
func (c *corpus) text(row int) string {
	random := rand.New(rand.NewPCG(uint64(row), 13))
	var b strings.Builder
	for count := 0; count < rowWords-12; {
		s := c.sentences[random.IntN(len(c.sentences))]
		count += strings.Count(s, " ") + 1
		b.WriteString(s)
		b.WriteString(". ")
	}
	for range 3 {
		fmt.Fprintf(&b, "%s ", rare(random))
	}
	return b.String()
}

// rare returns one of a million words; the n-th is about n times as rare as the first.
func rare(random *rand.Rand) string {
	n := int(math.Exp(random.Float64() * math.Log(1e6)))
	text := []byte{'q'}
	for ; n > 0; n /= 26 {
		text = append(text, 'a'+byte(n%26))
	}
	return string(append(text, 'x'))
}

// query returns 3 to 12 words that follow each other in a text.
func (c *corpus) query(number int) string {
	random := rand.New(rand.NewPCG(uint64(number), 14))
	list := strings.Fields(c.text(random.IntN(c.rows)))
	n := min(3+random.IntN(10), len(list))
	from := random.IntN(len(list) - n + 1)
	return strings.Join(list[from:from+n], " ")
}

// row returns a row as it is added to an index.
func (c *corpus) row(number int, full, vectors bool) rowindex.Row {
	text := c.text(number)
	t := rowindex.Text{End: len(text)}
	if full {
		t.Words = text
	}
	if vectors {
		t.Vector = semantic.Builtin().Text(text)
	}
	return rowindex.Row{
		Key: uint64(number), Name: fmt.Sprintf("[%d]", number), Hashes: []uint64{words.Hash(text)},
		Texts: [][]rowindex.Text{{t}},
	}
}

// Package eval measures package search against labelled queries.
//
//	set, err := eval.Load("retrieval/dev/apibank")
//	report, rankings, err := set.Run(ctx, eval.Options{Settings: search.Default()})
//	eval.WriteTable(os.Stdout, []eval.Report{report})
//
// A set is a folder with tools.jsonl, one {"name", "description",
// "parameters", "tags"} a line, and queries.jsonl, one {"id", "query",
// "relevant": [names]} a line. Rankings come from [search.Index.Search] and
// nothing else.
package eval

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/search"
)

// Limits of a set.
const (
	maxTools     = 100_000
	maxQueries   = 100_000
	maxLineBytes = 4 << 20
)

// Set is a catalogue with labelled queries.
type Set struct {
	Name    string // of the folder
	Tools   []search.Document
	Queries []Query
	// Model is the model of this set, instead of that of the Options.
	Model embeddings.Model
	// Log are past queries, which ended in successful calls of their relevant tools.
	Log []Query

	analyse sync.Once
	docs    []*search.Analysis
}

// Query is a query and the tools that are relevant for it.
type Query struct {
	ID       string   `json:"id"`
	Text     string   `json:"query"`
	Relevant []string `json:"relevant"` // names of tools, at least one
	Kind     string   `json:"kind"`
}

// ErrSet is returned for an invalid set. Its text has the file and the line.
var ErrSet = errors.New("retrieval set")

// Load reads a set. The error is [ErrSet] or the file system's.
func Load(dir string) (*Set, error) {
	s := &Set{Name: filepath.Base(dir)}
	names := map[string]bool{}
	err := eachLine(filepath.Join(dir, "tools.jsonl"), maxTools, func(line []byte) error {
		var tool search.Document
		if err := json.Unmarshal(line, &tool); err != nil {
			return err
		}
		switch {
		case tool.Name == "":
			return errors.New(`"name" is missing`)
		case names[tool.Name]:
			return fmt.Errorf("tool %q is defined twice", tool.Name)
		}
		names[tool.Name] = true
		s.Tools = append(s.Tools, tool)
		return nil
	})
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	err = eachLine(filepath.Join(dir, "queries.jsonl"), maxQueries, func(line []byte) error {
		var q Query
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		if err := q.check(names, ids); err != nil {
			return err
		}
		ids[q.ID] = true
		s.Queries = append(s.Queries, q)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (q *Query) check(names, ids map[string]bool) error {
	switch {
	case q.ID == "":
		return errors.New(`"id" is missing`)
	case ids[q.ID]:
		return fmt.Errorf("query %q is defined twice", q.ID)
	case q.Text == "":
		return errors.New(`"query" is missing`)
	case len(q.Relevant) == 0:
		return errors.New(`"relevant" is empty`)
	}
	for _, name := range q.Relevant {
		if !names[name] {
			return fmt.Errorf("relevant tool %q is not in tools.jsonl", name)
		}
	}
	return nil
}

// eachLine calls do with each line of a file that is not empty.
func eachLine(path string, most int, do func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, maxLineBytes)
	n, used := 0, 0
	for scanner.Scan() {
		n++
		if len(scanner.Bytes()) == 0 {
			continue
		}
		if used++; used > most {
			return fmt.Errorf("%w: %s:%d: more than %d lines", ErrSet, path, n, most)
		}
		if err := do(scanner.Bytes()); err != nil {
			return fmt.Errorf("%w: %s:%d: %w", ErrSet, path, n, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("%w: %s:%d: %w", ErrSet, path, n+1, err)
	}
	return nil
}

// Options are the options of a run.
type Options struct {
	Settings search.Settings
	Model    embeddings.Model // of the vectors; nil: none
}

// Ranking is the answer to one query.
type Ranking struct {
	ID    string   `json:"id"`
	Tools []string `json:"tools"` // best first
}

// depth is the number of tools in a ranking.
const depth = 10

// analyses analyses the tools once.
func (s *Set) analyses() []*search.Analysis {
	s.analyse.Do(func() {
		s.docs = make([]*search.Analysis, len(s.Tools))
		var group errgroup.Group
		group.SetLimit(runtime.GOMAXPROCS(0))
		for i, tool := range s.Tools {
			group.Go(func() error {
				s.docs[i] = search.Analyse(tool)
				return nil
			})
		}
		_ = group.Wait() // none of them returns an error
	})
	return s.docs
}

// Run searches for every query of a set. The error is ctx's or the model's.
func (s *Set) Run(ctx context.Context, o Options) (Report, []Ranking, error) {
	answers, err := s.search(ctx, o, s.Queries)
	if err != nil {
		return Report{}, nil, fmt.Errorf("set %q: %w", s.Name, err)
	}
	rankings := make([]Ranking, len(answers))
	for i, a := range answers {
		rankings[i] = Ranking{ID: s.Queries[i].ID, Tools: make([]string, len(a.Hits))}
		for k, hit := range a.Hits {
			rankings[i].Tools[k] = hit.Name
		}
	}
	return s.report(rankings), rankings, nil
}

// search answers queries, possibly those of another set.
func (s *Set) search(ctx context.Context, o Options, queries []Query) ([]search.Answer, error) {
	index := search.New(s.analyses(), o.Settings)
	vectors, err := s.vectors(ctx, o, index, queries)
	if err != nil {
		return nil, err
	}
	learned, err := s.learned(ctx, o, queries)
	if err != nil {
		return nil, err
	}
	answers := make([]search.Answer, len(queries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, q := range queries {
		group.Go(func() error {
			vector, err := vectors(i)
			if err != nil {
				return fmt.Errorf("query %q: %w", q.ID, err)
			}
			answers[i] = index.Search(search.Query{Text: q.Text, Limit: depth, Vector: vector, Learned: learned(i)})
			return ctx.Err()
		})
	}
	return answers, group.Wait()
}

// vectors returns the vector channel of each query.
func (s *Set) vectors(ctx context.Context, o Options, index *search.Index,
	queries []Query,
) (func(i int) (search.Vector, error), error) {
	if s.Model != nil {
		o.Model = s.Model
	}
	switch o.Model.(type) {
	case nil:
		return func(int) (search.Vector, error) { return nil, nil }, nil
	case embeddings.Hashing: // whose features are the index's own
		return func(i int) (search.Vector, error) { return index.NGrams(queries[i].Text), nil }, nil
	}
	rows, err := s.embedTools(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	dense := search.NewDense(len(rows[0]))
	for i, row := range rows {
		if err := dense.Add(row); err != nil {
			return nil, fmt.Errorf("tool %q: %w", s.Tools[i].Name, err)
		}
	}
	if _, ok := o.Model.(embeddings.Builtin); ok {
		sentences, err := o.Model.Embed(ctx, index.Sentences())
		if err != nil {
			return nil, err
		}
		if err := dense.Calibrate(sentences); err != nil {
			return nil, err
		}
	}
	var texts []string
	starts := make([]int, 1, len(queries)+1) // of each query's texts
	for _, q := range queries {
		texts = append(texts, search.Texts(q.Text)...)
		starts = append(starts, len(texts))
	}
	asked, err := o.Model.Embed(ctx, texts)
	if err == nil {
		err = counted(asked, len(texts))
	}
	return func(i int) (search.Vector, error) { return dense.Query(asked[starts[i]:starts[i+1]]...) }, err
}

func (s *Set) embedTools(ctx context.Context, model embeddings.Model) ([][]float32, error) {
	list := make([]embeddings.Tool, len(s.Tools))
	for i, t := range s.Tools {
		list[i] = embeddings.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	}
	rows, err := embeddings.EmbedTools(ctx, model, list)
	if err != nil {
		return nil, err
	}
	return rows, counted(rows, len(list))
}

// counted refuses another number of vectors than of texts.
func counted(rows [][]float32, n int) error {
	if len(rows) != n || n == 0 {
		return fmt.Errorf("the model returned %d vectors for %d texts", len(rows), n)
	}
	return nil
}

// WriteRun writes rankings, one per line, as {"id": ..., "tools": [...]}.
func WriteRun(w io.Writer, rankings []Ranking) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, r := range rankings {
		if err := encoder.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/find/embeddings/semantic"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/test/measure"
)

const (
	rowQueries = 300 // of each kind of search
	rowMemory  = 100 // searches before the memory is read
	rowBatch   = 256
	rowLimit   = 10
	// semanticWeight is that of the vectors of builtin:semantic in a hybrid search, see package
	// rowsearch.
	semanticWeight = .05
)

// rowFolderVariable makes the program one that opens the index in a folder and searches it.
const rowFolderVariable = "SPICED_BENCH_ROWS"

// rowBench is an index of rows by words and by the vectors of builtin:semantic.
type rowBench struct {
	*corpus
	folder string
	index  *rowindex.Index
}

// benchRows builds an index of rows and searches it, and compares it with DuckDB's extensions fts and vss.
func benchRows(ctx context.Context, e *env) (rows []row, err error) {
	c, err := newCorpus(e.rows)
	if err != nil {
		return nil, err
	}
	b := &rowBench{corpus: c, folder: filepath.Join(e.dir, "rows")}
	for _, part := range []func(context.Context, *env) ([]row, error){
		b.builds, b.opens, b.searches, b.peers, b.serves,
	} {
		some, err := part(ctx, e)
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	b.index.Release()
	return rows, nil
}

func rowColumns(full, vectors bool) []rowindex.Column {
	c := rowindex.Column{Name: "body", Words: full}
	if vectors {
		c.Model, c.Dimensions = semanticModel, semantic.Dimensions
	}
	return []rowindex.Column{c}
}

// build makes an index on all processors, and returns it and how long it took, the texts included.
func (b *rowBench) build(ctx context.Context, rows int, full, vectors bool) (*rowindex.Index, time.Duration, error) {
	if err := os.RemoveAll(b.folder); err != nil {
		return nil, 0, err
	}
	columns := rowColumns(full, vectors)
	store, damaged, err := rowindex.Open(b.folder, columns, "bench")
	if err != nil || damaged != nil {
		return nil, 0, fmt.Errorf("%w, %w", err, damaged)
	}
	defer store.Close()
	began := time.Now()
	u := store.Update()
	batches, analysed := make(chan int, 2), make(chan rowindex.Analysis, rowBatch)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(batches)
		for from := 0; from < rows; from += rowBatch {
			select {
			case batches <- from:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			a := rowindex.NewAnalyser(columns)
			for from := range batches {
				for i := from; i < min(from+rowBatch, rows); i++ {
					select {
					case analysed <- a.Analyse(b.row(i, full, vectors)):
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}
			return nil
		})
	}
	go func() {
		group.Wait()
		close(analysed)
	}()
	for a := range analysed {
		if err := u.Add(a); err != nil {
			u.Abort()
			return nil, 0, err
		}
	}
	if err := group.Wait(); err != nil {
		u.Abort()
		return nil, 0, err
	}
	if err := u.Commit("", began, rowindex.Missing{}); err != nil {
		return nil, 0, err
	}
	return store.Current(), time.Since(began), nil
}

// builds builds indexes by words, by vectors and by both. The last one stays.
func (b *rowBench) builds(ctx context.Context, _ *env) (rows []row, err error) {
	rate := func(n int, full, vectors bool) (float64, error) {
		ix, took, err := b.build(ctx, n, full, vectors)
		if err != nil {
			return 0, err
		}
		b.index = ix
		return float64(n) / took.Seconds(), nil
	}
	part := b.rows / 10
	full, err := rate(part, true, false)
	if err != nil {
		return nil, err
	}
	b.index.Release()
	vectors, err := rate(part, false, true)
	if err != nil {
		return nil, err
	}
	b.index.Release()
	both, err := rate(b.rows, true, true)
	if err != nil {
		return nil, err
	}
	return []row{
		{
			fmt.Sprintf("search over rows: an index of %d chunks of %d words%s; built by words / by vectors of %s (%d chunks)",
				b.rows, rowWords, b.from, semanticModel, part),
			fmt.Sprintf("%.0f / %.0f chunks/s", full, vectors), "≥ 2,000 / ≥ 5,000 chunks/s",
		},
		{"the same: built by both", fmt.Sprintf("%.0f chunks/s", both), "reported"},
	}, nil
}

// opens opens the index in processes of its own.
func (b *rowBench) opens(ctx context.Context, _ *env) ([]row, error) {
	var size int64
	entries, err := os.ReadDir(b.folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		size += info.Size()
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	var found openedRows
	for range 3 {
		cmd := exec.CommandContext(ctx, self, "-rows", fmt.Sprint(b.rows))
		cmd.Env = append(os.Environ(), rowFolderVariable+"="+b.folder)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("open the index in a process of its own: %w", err)
		}
		if err := json.Unmarshal(out, &found); err != nil {
			return nil, err
		}
		times = append(times, found.Took)
	}
	perChunk := func(bytes int64) float64 { return float64(bytes) / float64(b.rows) }
	return []row{
		{"the same: file a chunk", fmt.Sprintf("%.0f bytes", perChunk(size)), "≤ 2,048 bytes"},
		{
			fmt.Sprintf("the same: resident memory a chunk of a new process after %d searches; memory of its own, without mapped files", rowMemory),
			fmt.Sprintf("%.0f, %.0f bytes", perChunk(found.Resident), perChunk(found.Own)), "≤ 1,229 bytes",
		},
		{"the same: opening the kept index in a new process, median of 3", fmt.Sprintf("%.2f s", median(times).Seconds()), "≤ 3 s"},
	}, nil
}

// openedRows is what a process tells that opened an index.
type openedRows struct {
	Took          time.Duration
	Resident, Own int64 // bytes more than before
}

// openRows opens the index in a folder, searches it, and prints an openedRows.
func openRows(folder string, rows int) error {
	c, err := newCorpus(rows)
	if err != nil {
		return err
	}
	semantic.Builtin().Text("the table is read")
	memory := func() (resident, own int64, err error) {
		if resident, err = measure.Memory(os.Getpid(), "VmRSS"); err == nil {
			own, err = measure.Memory(os.Getpid(), "RssAnon")
		}
		return resident, own, err
	}
	resident, own, err := memory()
	if err != nil {
		return err
	}
	began := time.Now()
	store, damaged, err := rowindex.Open(folder, rowColumns(true, true), "bench")
	if err != nil || damaged != nil {
		return fmt.Errorf("%w, %w", err, damaged)
	}
	out := openedRows{Took: time.Since(began)}
	ix := store.Current()
	for i := range rowMemory {
		ix.Search(c.hybrid(i))
	}
	if out.Resident, out.Own, err = memory(); err != nil {
		return err
	}
	out.Resident, out.Own = out.Resident-resident, out.Own-own
	return json.NewEncoder(os.Stdout).Encode(out)
}

func (c *corpus) hybrid(number int) rowindex.Query {
	text := c.query(number)
	return rowindex.Query{
		Text: text, Mode: rowindex.Hybrid, Limit: rowLimit,
		Vectors: []rowindex.Near{{Vector: semantic.Builtin().Text(text), Weight: semanticWeight}},
	}
}

// searches measures searches in each mode, and those of callers who see half of the rows.
func (b *rowBench) searches(context.Context, *env) (rows []row, err error) {
	half := b.index.NewRowset()
	for i := 0; i < b.rows; i += 2 {
		half.Add(uint64(i))
	}
	for _, c := range []struct {
		what, target string
		mode         rowindex.Mode
		visible      *rowindex.Rowset
	}{
		{"hybrid", "≤ 100 / 250 ms", rowindex.Hybrid, nil},
		{"by words", "reported", rowindex.Keyword, nil},
		{"by vectors", "reported", rowindex.Vector, nil},
		{"hybrid, half of the rows visible", "≤ 100 / 250 ms", rowindex.Hybrid, half},
	} {
		var times []float64
		for i := range rowQueries {
			q := b.hybrid(i)
			q.Mode, q.Visible = c.mode, c.visible
			began := time.Now()
			b.index.Search(q)
			times = append(times, ms(time.Since(began)))
		}
		slices.Sort(times)
		rows = append(rows, row{
			fmt.Sprintf("the same: a search %s, p50 / p99 of %d queries of 3 to 12 words", c.what, rowQueries),
			fmt.Sprintf("%.1f / %.1f ms", median(times), load{times: times}.p99()), c.target,
		})
	}
	return rows, nil
}

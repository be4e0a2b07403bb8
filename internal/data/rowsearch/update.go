package rowsearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/find/chunk"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// Limits of an index.
const (
	MaxText   = 4 << 20  // bytes of a text that are searched
	MaxChunks = 20 << 20 // of all texts of a table

	batchRows  = 256
	batchBytes = 1 << 20
)

// errVectors is the cause of errors of an embedding model.
var errVectors = errors.New("texts could not be embedded")

// errShared is the error of a table with a row filter or masks in which a key is that of several
// rows: who sees one of them would find it by the words of the others.
var errShared = errors.New("several rows have one row_id, so that it does not tell which of them a caller may see; " +
	"declare columns that identify a row, such as row_id: [space, id]")

// update makes the index that of the table's rows, if it is not. If a model cannot embed the texts,
// a table without an index gets one only by words.
func (ix *Index) update(ctx context.Context) error {
	select {
	case ix.m.slot <- struct{}{}:
		defer func() { <-ix.m.slot }()
	case <-ctx.Done():
		return ctx.Err()
	}
	dimensions, err := ix.dimensions(ctx)
	if err == nil {
		err = ix.updateWith(ctx, ix.spec.indexColumns(ix.models, dimensions))
	}
	if !errors.Is(err, errVectors) || ix.has() {
		return err
	}
	if failed := ix.updateWith(ctx, ix.spec.indexColumns(nil, nil)); failed != nil {
		return failed
	}
	return byWords(err)
}

// byWords is the error of a table whose texts could not be embedded.
func byWords(err error) error { return fmt.Errorf("the table is searched only by words: %w", err) }

// has reports whether there is an index.
func (ix *Index) has() bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.store == nil {
		return false
	}
	current := ix.store.Current()
	if current == nil {
		return false
	}
	current.Release()
	return true
}

// dimensions returns the length of the vectors of each model. One that does not know embeds a word.
func (ix *Index) dimensions(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for name, model := range ix.models {
		out[name] = model.Dimensions()
		if out[name] == 0 {
			vectors, err := model.Embed(ctx, []string{"text"})
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errVectors, err)
			}
			out[name] = len(vectors[0])
		}
	}
	return out, nil
}

// updateWith updates the index with these columns.
func (ix *Index) updateWith(ctx context.Context, columns []rowindex.Column) error {
	store, err := ix.opened(columns)
	if err != nil {
		return err
	}
	version, held := ix.hold()
	defer resource.Release(held...)
	if version.Unopened {
		return nil // the first statement that reads it opens it, which is a change
	}
	name := ix.spec.Table.Version()
	var before rowindex.Missing
	if current := store.Current(); current != nil {
		before = current.Missing()
		fresh := current.Version() == name && version.Copy != nil
		current.Release()
		if fresh {
			return nil
		}
	}
	update, at := store.Update(), ix.m.opts.Clock.Now()
	u := newUpdating(ix, columns, update, before.Partial)
	err = u.run(ctx, func(ctx context.Context, each func(*engine.Chunk)) error {
		return tables.Query(ctx, ix.m.opts.DB, ix.spec.scan("("+version.Source()+"\n) AS t"), func(c *engine.Chunk) {
			each(c)
			ix.mu.Lock()
			ix.done += int64(c.Len())
			ix.mu.Unlock()
		})
	})
	if err != nil {
		update.Abort()
	}
	if errors.Is(err, errShared) { // the older index cannot answer either: it has the keys that are shared now
		return errors.Join(err, store.Clear())
	}
	if err != nil {
		return err
	}
	if err := update.Commit(name, at, u.missing()); err != nil {
		return fmt.Errorf("write the search index: %w", err)
	}
	return nil
}

// opened returns the store for columns.
func (ix *Index) opened(columns []rowindex.Column) (*rowindex.Store, error) {
	ix.mu.Lock()
	store := ix.store
	ix.mu.Unlock()
	if store != nil && store.Has(columns) {
		return store, nil
	}
	if store != nil {
		store.Close()
	}
	store, err := ix.m.open(ix.spec, columns)
	if err != nil {
		return nil, err
	}
	ix.mu.Lock()
	ix.store = store
	ix.mu.Unlock()
	return store, nil
}

// hold returns the version of the table that is served, with its resources held. Those of one that
// was just replaced may be gone: then there is a newer one.
func (ix *Index) hold() (*tables.Version, []*resource.Resource) {
	for {
		v := ix.spec.Table.Current()
		var held []*resource.Resource
		for _, r := range v.Resources {
			if r.TryRetain() {
				held = append(held, r)
			}
		}
		if len(held) == len(v.Resources) {
			return v, held
		}
		resource.Release(held...)
		runtime.Gosched()
	}
}

// updating is an update that runs. Rows are read by one goroutine, and split, embedded and analysed
// by others.
type updating struct {
	ix      *Index
	columns []rowindex.Column
	before  map[uint64]struct{} // keys of rows that the last index had in part

	// Of the goroutine that reads. seen are the keys that were read. Of rows with one key, the first is
	// indexed; repeated counts the others, unless their texts are the key.
	seen     map[uint64]struct{}
	repeated int
	keys     int // rows whose key is NULL

	mu      sync.Mutex // guards what follows
	next    nextIndex
	partial map[uint64]struct{} // keys of rows with a text that is too long
}

// nextIndex is an index in the making: a [*rowindex.Update] or a [*rowindex.Memory].
type nextIndex interface {
	Known(key uint64, hashes []uint64) bool
	Add(a rowindex.Analysis) error
	Chunks() int
}

func newUpdating(ix *Index, columns []rowindex.Column, next nextIndex, before []uint64) *updating {
	u := &updating{
		ix: ix, columns: columns, next: next, before: make(map[uint64]struct{}, len(before)),
		seen: map[uint64]struct{}{}, partial: map[uint64]struct{}{},
	}
	for _, key := range before {
		u.before[key] = struct{}{}
	}
	return u
}

// unindexed is a row that must be analysed.
type unindexed struct {
	row   rowindex.Row
	texts []string // of each column; "" if it is NULL
}

// run analyses the rows of the chunks that scan passes on.
func (u *updating) run(ctx context.Context, scan func(context.Context, func(*engine.Chunk)) error) error {
	batches := make(chan []unindexed, runtime.GOMAXPROCS(0))
	group, ctx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			analyser := rowindex.NewAnalyser(u.columns)
			for batch := range batches {
				if err := u.analyse(ctx, analyser, batch); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := u.read(ctx, scan, batches)
	close(batches)
	if failed := group.Wait(); failed != nil {
		return failed
	}
	return err
}

// scan is the statement that reads the rows of a relation for an index.
func (s *Spec) scan(relation string) string {
	list := []string{s.keyHash("")}
	for _, c := range s.Key {
		list = append(list, "CAST("+engine.Identifier(c.Name)+" AS VARCHAR)")
	}
	for _, c := range s.Columns {
		list = append(list, "hash("+textOf("", c.Name)+")", textOf("", c.Name))
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + relation
}

// read sends the rows that the index does not have.
func (u *updating) read(ctx context.Context, scan func(context.Context, func(*engine.Chunk)) error,
	batches chan<- []unindexed,
) error {
	var batch []unindexed
	bytes := 0
	send := func() {
		if len(batch) == 0 {
			return
		}
		select {
		case batches <- batch:
		case <-ctx.Done():
		}
		batch, bytes = nil, 0
	}
	err := scan(ctx, func(c *engine.Chunk) {
		for i := range c.Len() {
			r := u.row(c, i)
			if r == nil {
				continue
			}
			batch = append(batch, *r)
			for _, text := range r.texts {
				bytes += len(text)
			}
			if len(batch) == batchRows || bytes > batchBytes {
				send()
			}
		}
	})
	send()
	if s := u.ix.spec; err == nil && u.repeated > 0 && !s.Personal && (s.Filtered || len(s.Masked) > 0) {
		return errShared
	}
	return err
}

// row reads a row; nil if the index has it.
func (u *updating) row(c *engine.Chunk, i int) *unindexed {
	s := u.ix.spec
	r := unindexed{row: rowindex.Row{Key: engine.Value[uint64](c.Column(0), i)}, texts: make([]string, len(s.Columns))}
	first := 1 + len(s.Key)
	for k := range s.Columns {
		r.row.Hashes = append(r.row.Hashes, engine.Value[uint64](c.Column(first+2*k), i))
	}
	for k := range s.Key {
		if !c.Column(1 + k).Valid(i) {
			u.keys++
			return nil
		}
	}
	if _, known := u.seen[r.row.Key]; known {
		if len(s.Key) > 0 {
			u.repeated++
		}
		return nil
	}
	u.seen[r.row.Key] = struct{}{}
	u.mu.Lock()
	known := u.next.Known(r.row.Key, r.row.Hashes)
	u.mu.Unlock()
	if known {
		if _, partial := u.before[r.row.Key]; partial {
			u.inPart(r.row.Key)
		}
		return nil
	}
	name := []byte{'['}
	for k := range s.Key {
		if k > 0 {
			name = append(name, ',')
		}
		name = format.AppendString(name, string(c.Column(1+k).Bytes(i)))
	}
	r.row.Name = string(append(name, ']'))
	for k := range s.Columns {
		if v := c.Column(first + 2*k + 1); v.Valid(i) {
			text := v.Bytes(i)
			if len(text) > MaxText {
				u.inPart(r.row.Key)
				r.texts[k] = truncate.Bytes(string(text[:MaxText]), MaxText)
				continue
			}
			r.texts[k] = string(text)
		}
	}
	return &r
}

// inPart notes that a text of a row is too long.
func (u *updating) inPart(key uint64) {
	u.mu.Lock()
	u.partial[key] = struct{}{}
	u.mu.Unlock()
}

// analyse splits and embeds the texts of rows, and adds the rows.
func (u *updating) analyse(ctx context.Context, analyser *rowindex.Analyser, batch []unindexed) error {
	for k, c := range u.ix.spec.Columns {
		if err := u.column(ctx, k, c, batch); err != nil {
			return err
		}
	}
	for i := range batch {
		analysed := analyser.Analyse(batch[i].row)
		u.mu.Lock()
		err := u.next.Add(analysed)
		tooMany := u.next.Chunks() > MaxChunks
		u.mu.Unlock()
		if err != nil {
			return err
		}
		if tooMany {
			return fmt.Errorf("the texts have more than %d chunks, which is the limit of a search index", MaxChunks)
		}
	}
	return nil
}

// column fills the chunks of a column of rows.
func (u *updating) column(ctx context.Context, number int, c Column, batch []unindexed) error {
	var texts []string
	var of []*rowindex.Text
	model := u.ix.models[c.Model]
	if u.columns[number].Dimensions == 0 {
		model = nil
	}
	for i := range batch {
		r := &batch[i]
		if r.row.Texts == nil {
			r.row.Texts = make([][]rowindex.Text, len(u.columns))
		}
		text := r.texts[number]
		split := chunk.Split(text, c.Split)
		if len(split) > rowindex.MaxRowChunks {
			split = split[:rowindex.MaxRowChunks]
			u.inPart(r.row.Key)
		}
		list := make([]rowindex.Text, len(split))
		for k, part := range split {
			list[k] = rowindex.Text{Start: part.Start, End: part.End}
			words := text[part.Start:part.End]
			if part.Heading != "" && !strings.HasPrefix(words, "#") {
				words = part.Heading + "\n" + words
			}
			list[k].Words = words
			if model != nil {
				texts, of = append(texts, words), append(of, &list[k])
			}
		}
		r.row.Texts[number] = list
	}
	if model == nil {
		return nil
	}
	for len(texts) > 0 {
		n := min(len(texts), embedTexts)
		vectors, err := embed(ctx, model, texts[:n])
		if err != nil {
			return err
		}
		for i, v := range vectors {
			of[i].Vector = v
		}
		texts, of = texts[n:], of[n:]
	}
	return nil
}

// embedTexts is how many texts a model embeds at once.
const embedTexts = 64

func embed(ctx context.Context, model embeddings.Model, texts []string) ([][]float32, error) {
	vectors, err := model.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errVectors, err)
	}
	return vectors, nil
}

// missing returns what of the table the next index does not have.
func (u *updating) missing() rowindex.Missing {
	return rowindex.Missing{
		Partial: slices.Sorted(maps.Keys(u.partial)), Repeated: u.repeated, NoKey: u.keys,
	}
}

// remark says what of the table is not searched as declared.
func (ix *Index) remark(m rowindex.Missing) string {
	var parts []string
	for _, c := range ix.spec.Columns {
		if c.Model != "" && ix.models[c.Model] == nil {
			parts = append(parts, fmt.Sprintf("embedding model %q was not loaded, so that column %s is searched only by words",
				c.Model, c.Name))
		}
	}
	add := func(n int, what string) {
		count := fmt.Sprint(n)
		if ix.spec.Table.Protected { // it would tell how many rows are hidden
			count = "some"
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf(what, count))
		}
	}
	add(len(m.Partial), fmt.Sprintf("of the texts of %%s rows only the beginning is searched: they are longer than "+
		"%d bytes or have more than %d chunks", MaxText, rowindex.MaxRowChunks))
	add(m.Repeated, "%s rows have the row_id of another row and are not found")
	add(m.NoKey, "%s rows have a NULL in row_id and are not found")
	return strings.Join(parts, "; ")
}

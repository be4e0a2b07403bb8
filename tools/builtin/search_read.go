package builtin

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

// reader reads the rows of datasets that match a condition.
type reader struct {
	db         SearchEngine
	datasets   []Dataset
	additional [][]Column // of each dataset
	where      string     // "" means all rows
	allow      func(engine.Relation) bool
	timeout    time.Duration
}

// key identifies what is read.
func (r *reader) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q", r.where)
	for i, d := range r.datasets {
		fmt.Fprintf(&b, " %q %q %q %q %q", d.Table(), d.Version, d.Key, columnNames(d.searchable()),
			columnNames(r.additional[i]))
	}
	return b.String()
}

// life is how long the rows may be used, 0 without expiry. The result of a
// condition may change with time or with another table.
func (r *reader) life() time.Duration {
	known := r.where == ""
	for _, d := range r.datasets {
		known = known && d.Version != ""
	}
	if known {
		return 0
	}
	return IndexLife
}

// read reads the datasets and indexes their rows.
func (r *reader) read(ctx context.Context) (*rowIndex, error) {
	share := extent{
		rows:  min(MaxSearchRows, MaxIndexedRows/len(r.datasets)),
		bytes: min(MaxSearchBytes, int64(MaxIndexedBytes/len(r.datasets))),
	}
	x := &rowIndex{}
	var texts []string
	db := &noting{Querier: r.db}
	for i, d := range r.datasets {
		found, text, err := r.dataset(ctx, db, d, r.additional[i], share)
		if err != nil {
			return nil, err
		}
		source := &indexedDataset{table: d.Table(), rows: len(found.lines), partial: found.truncated}
		x.partial = x.partial || found.truncated
		for _, line := range found.lines {
			x.rows = append(x.rows, indexedRow{source, line})
			x.bytes += int64(len(line))
		}
		texts = append(texts, text[:len(found.lines)]...)
	}
	x.personal = db.traits.Caller
	analyses, err := analyse(ctx, texts)
	if err != nil {
		return nil, err
	}
	settings := search.Default()
	settings.Depth = max(settings.Depth, MaxHits)
	x.index = search.New(analyses, settings)
	return x, nil
}

// noting records what the statements that it runs depend on.
type noting struct {
	udf.Querier
	traits engine.Traits
}

func (n *noting) Query(ctx context.Context, req engine.Request) (*engine.Rows, error) {
	rows, err := n.Querier.Query(ctx, req)
	if err == nil {
		n.traits = n.traits.With(rows.Traits())
	}
	return rows, err
}

// dataset reads one dataset: the rows as returned, and the searched text of
// each.
func (r *reader) dataset(ctx context.Context, db udf.Querier, d Dataset, additional []Column,
	e extent,
) (rows, []string, error) {
	fields := []string{object(d.searchable()) + ` AS "matches"`}
	if key := d.key(); len(key) > 0 {
		fields = append(fields, object(key)+` AS "primary_key"`)
	}
	if len(additional) > 0 {
		fields = append(fields, object(additional)+` AS "data"`)
	}
	where := ""
	if r.where != "" {
		where = " WHERE (\n" + r.where + "\n)"
	}
	sql := fmt.Sprintf("SELECT %s FROM %s%s LIMIT %d", strings.Join(fields, ", "), qualified(d), where, e.rows+1)
	var texts []string
	req := engine.Request{SQL: sql, Limits: engine.Limits{Timeout: r.timeout}, Allow: r.allow, Isolate: r.where != ""}
	found, err := read(ctx, db, req, e, func(chunk *engine.Chunk) {
		for i := range chunk.Len() {
			texts = append(texts, rowText(chunk.Column(0), i))
		}
	})
	if err != nil && r.where != "" {
		failed := whereError("where, over "+d.short(), err)
		if len(r.datasets) > 1 {
			failed.Hint = strings.TrimPrefix(failed.Hint+"; name the tables that it fits in datasets", "; ")
		}
		return rows{}, nil, failed
	}
	return found, texts, err
}

// key are the columns that identify a row.
func (d Dataset) key() []Column {
	var key []Column
	for _, name := range d.Key {
		if c := column(d.Columns, name); c != nil {
			key = append(key, *c)
		}
	}
	return key
}

// object is the SQL of a STRUCT with the columns as members.
func object(columns []Column) string {
	members := make([]string, len(columns))
	for i, c := range columns {
		members[i] = engine.Literal(c.Name) + ": " + engine.Identifier(c.Name)
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// rowText is the text of the members of a STRUCT, one a line.
func rowText(v *engine.Vector, i int) string {
	var text []byte
	for f := range v.Type.Fields {
		member := v.Field(f)
		switch {
		case !member.Valid(i):
			continue
		case member.Type.ID == engine.Varchar:
			text = append(text, member.Bytes(i)...)
		default:
			text = format.JSON(text, member, i)
		}
		text = append(text, '\n')
	}
	return truncate.Bytes(string(text), MaxRowText)
}

// analyse prepares the texts for the index, on all CPUs.
func analyse(ctx context.Context, texts []string) ([]*search.Analysis, error) {
	analyses := make([]*search.Analysis, len(texts))
	workers := runtime.GOMAXPROCS(0)
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		group.Go(func() error {
			for i := w; i < len(texts); i += workers {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				analyses[i] = search.Analyse(search.Document{Description: texts[i]})
			}
			return nil
		})
	}
	return analyses, group.Wait()
}

// whereError converts a statement's error to one of the condition in it, which
// begins on the second line.
func whereError(what string, err error) *tools.Error {
	e := engineError(err)
	if e == nil {
		failed := *tools.AsError(err)
		failed.Message = what + ": " + failed.Message
		return &failed
	}
	moved := *e
	moved.Line, moved.Message = max(moved.Line-1, 0), what+": "+moved.Message
	switch moved.Code {
	case errcode.Parse, errcode.NotFound, errcode.Argument:
		moved.Code = errcode.InvalidArguments
	}
	return SQLError(&moved)
}

package rowsearch

import (
	"context"
	"fmt"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// MaxPersonalRows is how many rows a table may have if each search reads all of them.
const MaxPersonalRows = 20_000

// index returns the index that a search looks into, held for the caller: that of the table or, if
// its rows depend on the caller, one of the rows that the caller reads now.
func (ix *Index) index(ctx context.Context, db Querier, r Request) (*rowindex.Index, error) {
	if !ix.spec.Personal {
		return ix.current(ctx)
	}
	dimensions, err := ix.dimensions(ctx)
	models := ix.models
	if err != nil { // only by words
		models = map[string]embeddings.Model{}
	}
	columns := ix.spec.indexColumns(models, dimensions)
	memory := rowindex.NewMemory(columns)
	u := &updating{
		ix: ix, columns: columns, add: memory.Add, seen: map[uint64]struct{}{},
		known: func(uint64, []uint64) bool { return false },
	}
	rows := 0
	err = u.run(ctx, func(ctx context.Context, each func(*engine.Chunk)) error {
		limited := ix.spec.scan(ix.relation()) + fmt.Sprintf(" LIMIT %d", MaxPersonalRows+1)
		return ix.chunks(ctx, db, r, limited, false, func(c *engine.Chunk) {
			rows += c.Len()
			each(c)
		})
	})
	if err != nil {
		return nil, err
	}
	if rows > MaxPersonalRows {
		return nil, engine.NewError(errcode.Limit, "search the tables that it reads",
			"table %s has more than %d rows, and they depend on the caller, so that each search would read all",
			ix.spec.Table.Name, MaxPersonalRows)
	}
	return memory.Index()
}

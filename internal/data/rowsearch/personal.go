package rowsearch

import (
	"context"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// MaxPersonalRows is how many rows a table may have if each search reads all of them.
const MaxPersonalRows = 20_000

// index returns the index that a search looks into, held for the caller: that of the table or, if
// its rows depend on the caller, one of the rows that the caller reads now. note says what is not
// searched as declared.
func (ix *Index) index(ctx context.Context, db Querier, r Request) (index *rowindex.Index, note string, err error) {
	if !ix.spec.Personal {
		index, err = ix.current(ctx)
		return index, ix.Status().Message, err
	}
	var notes []string
	dimensions, err := ix.dimensions(ctx)
	models := ix.models
	if err != nil {
		models = map[string]embeddings.Model{}
		notes = append(notes, byWords(err).Error())
	}
	columns := ix.spec.indexColumns(models, dimensions)
	memory := rowindex.NewMemory(columns)
	u := newUpdating(ix, columns, memory, nil)
	rows := 0
	err = u.run(ctx, func(ctx context.Context, each func(*engine.Chunk)) error {
		limited := ix.spec.scan(ix.relation()) + fmt.Sprintf(" LIMIT %d", MaxPersonalRows+1)
		return ix.chunks(ctx, db, r, limited, false, func(c *engine.Chunk) {
			rows += c.Len()
			each(c)
		})
	})
	if err != nil {
		return nil, "", err
	}
	if rows > MaxPersonalRows {
		return nil, "", engine.NewError(errcode.Limit, "search the tables that it reads",
			"table %s has more than %d rows, and they depend on the caller, so that each search would read all",
			ix.spec.Table.Name, MaxPersonalRows)
	}
	missing := u.missing()
	if remark := ix.remark(missing); remark != "" {
		notes = append(notes, remark)
	}
	index, err = memory.Index(missing)
	return index, strings.Join(notes, "; "), err
}

package query

import (
	"context"

	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// ToolDB is the engine for tools: the statements of a call are listed below it.
type ToolDB struct{ *engine.DB }

// Query begins a statement.
func (db ToolDB) Query(ctx context.Context, req engine.Request) (*engine.Rows, error) {
	ctx, entry := activity.BeginChild(ctx, activity.Work{Kind: activity.ToolStatement, SQL: req.SQL})
	rows, err := db.DB.Query(ctx, req)
	if err != nil {
		entry.End()
		return nil, err
	}
	rows.OnClose(entry.End)
	return rows, nil
}

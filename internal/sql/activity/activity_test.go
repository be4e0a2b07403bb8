package activity_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/activity"
)

func TestOnlyTheOwnerSeesAndCancelsWork(t *testing.T) {
	var table activity.Table
	ctx, entry := table.Begin(t.Context(), activity.Work{Kind: activity.Statement, Owner: "ann", SQL: "SELECT 'secret'"})
	list := table.List("ann")
	if len(list) != 1 || list[0].ID != entry.ID || list[0].SQL != "select ?" || list[0].Began.IsZero() {
		t.Errorf("list: %+v", list)
	}
	if len(table.List("bob")) != 0 || table.Cancel("bob", entry.ID) || table.Cancel("ann", "") || ctx.Err() != nil {
		t.Error("another owner, or no id, reaches it")
	}
	if !table.Cancel("ann", entry.ID) || !errors.Is(context.Cause(ctx), activity.ErrCancelled) {
		t.Errorf("cancelled: %v", context.Cause(ctx))
	}
	entry.End()
	entry.End()
	if len(table.List("ann")) != 0 || table.Cancel("ann", entry.ID) {
		t.Error("it is listed after its end")
	}
}

func TestChildrenBelongToTheOwnerOfTheirParent(t *testing.T) {
	var table activity.Table
	if _, child := activity.BeginChild(t.Context(), activity.Work{Kind: activity.ToolStatement}); child != nil {
		t.Error("work without a parent is listed")
	}
	ctx, parent := table.Begin(t.Context(), activity.Work{ID: "r1", Kind: activity.ToolCall, Owner: "ann", Protocol: "mcp", Name: "sql"})
	defer parent.End()
	below, child := activity.BeginChild(ctx, activity.Work{Kind: activity.ToolStatement, SQL: "SELECT 1"})
	defer child.End()
	list := table.List("ann")
	if len(list) != 2 || list[1].Kind != activity.ToolStatement || list[1].Protocol != "mcp" || list[1].Name != "sql" {
		t.Errorf("list: %+v", list)
	}
	if !table.Cancel("ann", child.ID) || ctx.Err() != nil || below.Err() == nil {
		t.Error("a child is cancelled alone")
	}
	table.Cancel("ann", "r1")
	if ctx.Err() == nil {
		t.Error("the parent is not cancelled")
	}
}

func TestWorkOfOneIDIsCancelledTogether(t *testing.T) {
	var table activity.Table
	one, a := table.Begin(t.Context(), activity.Work{ID: "r1", Owner: "ann"})
	two, b := table.Begin(t.Context(), activity.Work{ID: "r1", Owner: "ann"})
	defer a.End()
	defer b.End()
	if !table.Cancel("ann", "r1") || one.Err() == nil || two.Err() == nil {
		t.Error("work of one id goes on")
	}
}

func BenchmarkBegin(b *testing.B) {
	var table activity.Table
	ctx := b.Context()
	for b.Loop() {
		_, e := table.Begin(ctx, activity.Work{ID: "r1", Owner: "ann"})
		e.End()
	}
}

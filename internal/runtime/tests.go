package runtime

import (
	"context"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/fault"
)

// TestFunction runs the declared tests of a function that is served, as a load does: on a stage, where
// nothing that is published changes. It returns nothing for a function that is not there. One run goes
// on at a time; the others wait.
func (s *services) TestFunction(ctx context.Context, name string) ([]functions.TestResult, error) {
	select {
	case s.testing <- struct{}{}:
		defer func() { <-s.testing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g := s.Current()
	if g == nil {
		return nil, nil
	}
	f := g.Functions.Get(name)
	if f == nil {
		return nil, nil
	}
	stage, err := s.db.Stage(ctx)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	only := func(tested *functions.Function) bool { return tested == f }
	results, _ := functions.RunTests(ctx, stage, g.Pod, g.Functions, functions.TestOptions{
		Prev: g.Functions, Only: only, Again: only,
	})
	for i := range results {
		results[i].Message = fault.WithoutRoots(results[i].Message, s.db.roots)
	}
	return results, ctx.Err()
}

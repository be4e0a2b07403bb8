package main

import (
	"context"
	"fmt"
)

// protected declares the rows of wide again, with a policy. No caller is root.
const protected = `  - name: shown
    from: file:wide.parquet
    acceleration: { enabled: true, mode: memory }
    row_filter: "id % 2 = 0 OR ctx('user_id') = 'root'"
    column_mask: { name: "left(name, 6)" }
`

// benchPolicy compares a scan through a row filter and a mask with the equivalent SQL,
// without ctx, the function for the caller's attributes.
func benchPolicy(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "policy", table: wide, text: protected})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	const figures = "SELECT count(*) AS n, sum(b) AS s, max(name) AS m FROM "
	byPolicy, byHand := figures+"shown", figures+"(SELECT b, left(name, 6) AS name FROM wide WHERE id % 2 = 0)"
	if err := s.same(ctx, byPolicy, byHand); err != nil {
		return nil, err
	}
	ratio, err := s.ratio(ctx, byPolicy, byHand)
	if err != nil {
		return nil, err
	}
	return []row{{"row filter and mask : the same written by hand, scan of 10 million rows, time", fmt.Sprintf("%.2f", ratio), "reported"}}, nil
}

// same returns an error unless both statements have the same answer.
func (s *server) same(ctx context.Context, a, b string) error {
	first, err := s.sql(ctx, a)
	if err != nil {
		return err
	}
	second, err := s.sql(ctx, b)
	if err == nil && first != second {
		err = fmt.Errorf("%s\nanswers %s\n%s\nanswers %s", a, first, b, second)
	}
	return err
}

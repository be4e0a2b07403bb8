package semantic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// TestResult is the outcome of a test of a metric.
type TestResult struct {
	Metric   string
	Name     string
	Passed   bool
	Message  string
	Duration time.Duration
	Position spicepod.Position
}

// test runs the tests of a metric that is in the layer, unless they have passed for the same
// declarations and data, and reports whether all pass. The error says that no statement can run in
// the transaction any more.
func (b *builder) test(ctx context.Context, m, last *Metric) (passed bool, err error) {
	if b.Failed[m.hash] {
		return false, nil
	}
	if last != nil && last.hash == m.hash && b.unchanged(m) {
		m.Tests = last.Tests
		return true, nil
	}
	passed = true
	for i, t := range m.Declared.Tests {
		path := fmt.Sprintf("tests[%d]", i)
		result := TestResult{Metric: m.Declared.Name, Name: t.Name, Position: b.Pod.At(m.path + "." + path)}
		if result.Name == "" {
			result.Name = fmt.Sprintf("test %d", i+1)
		}
		start := time.Now()
		fails := b.run(ctx, m, t)
		result.Duration, result.Passed = time.Since(start), fails == nil
		if fails != nil {
			passed = false
			result.Message = fault.FirstLines(fails.Error())
			b.problem(fault.New(path, "", "test %q failed: %s", result.Name, result.Message), m.path, m.component())
		}
		b.Tests = append(b.Tests, result)
		if b.Tx.Exec("SELECT 1") != nil {
			b.Failed[m.hash] = true
			return false, ErrAborted
		}
	}
	m.Tests = len(m.Declared.Tests)
	return passed, nil
}

// unchanged reports whether all that a metric reads is as it was for the last layer.
func (b *builder) unchanged(m *Metric) bool {
	for _, s := range b.Layer.simple(m) {
		if last := b.Old.metric(s.Declared.Name); last == nil || last.hash != s.hash {
			return false
		}
		model := b.Layer.model(s.Declared.SemanticModel)
		for _, r := range b.Layer.reachable(model, Everything) {
			of := r.dimension.model
			if last := b.Old.model(of.Declared.Name); last == nil || last.hash != of.hash || b.Again(of.Relation) {
				return false
			}
		}
		if b.Again(model.Relation) {
			return false
		}
	}
	return true
}

// run runs one test.
func (b *builder) run(ctx context.Context, m *Metric, t spicepod.MetricTest) error {
	sql, err := b.Layer.SQL(Query{
		Metrics: []string{m.Declared.Name}, By: t.By, Grain: t.Grain, Where: t.Where, Limit: MaxTestRows + 1,
	}, b.parse, Everything)
	if err != nil {
		return err
	}
	columns, _, err := b.bound(sql)
	if err != nil {
		return err
	}
	rows := t.Rows
	if t.Value != nil {
		rows = []any{[]any{*t.Value}}
	}
	want, err := b.expected(columns, rows)
	if err != nil {
		return err
	}
	got, err := b.texts(ctx, columns, sql)
	if err != nil {
		return err
	}
	return compare(columns, want, got, t.Tolerance)
}

// cell is a value as DuckDB writes it; null distinguishes NULL from "NULL".
type cell struct {
	text string
	null bool
}

// texts runs a SELECT and returns its values as DuckDB writes them.
func (b *builder) texts(ctx context.Context, columns []engine.Column, sql string) (rows [][]cell, err error) {
	st, err := b.parse(sql)
	if err != nil {
		return nil, err
	}
	edits, err := b.DB.Check(sql, st, b.Names)
	if err != nil {
		return nil, err
	}
	sql, _ = sqltree.Apply(sql, edits)
	list := make([]string, len(columns))
	for i := range columns {
		list[i] = fmt.Sprintf("CAST(#%d AS VARCHAR)", i+1)
	}
	within, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	err = b.Tx.Run(within, func() error {
		return b.Tx.Query("SELECT "+strings.Join(list, ", ")+" FROM ("+sql+")", func(chunk *engine.Chunk) error {
			for i := range chunk.Len() {
				row := make([]cell, len(columns))
				for j := range row {
					if v := chunk.Column(j); v.Valid(i) {
						row[j].text = string(v.Bytes(i))
					} else {
						row[j].null = true
					}
				}
				rows = append(rows, row)
			}
			return nil
		})
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("took longer than %s", b.Timeout)
	}
	if err == nil && len(rows) > MaxTestRows {
		return nil, fmt.Errorf("the result has more than %s", plural.Of(MaxTestRows, "row"))
	}
	return rows, err
}

// expected returns the rows of a test as DuckDB writes them in the types of the result.
func (b *builder) expected(columns []engine.Column, rows []any) ([][]cell, error) {
	if len(rows) > MaxTestRows {
		return nil, fmt.Errorf("rows: %d are too many; the limit is %d", len(rows), MaxTestRows)
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	list := make([][]cell, len(rows))
	for i, row := range rows {
		values, err := spicepod.RowValues(names, row)
		if err != nil {
			return nil, fmt.Errorf("rows[%d]: %w", i, err)
		}
		texts := make([]string, len(values))
		for j, v := range values {
			value := "NULL"
			if v != nil {
				value = engine.Literal(fmt.Sprint(v))
			}
			texts[j] = fmt.Sprintf("TRY_CAST(TRY_CAST(%s AS %s) AS VARCHAR)", value, columns[j].Type.String())
		}
		err = b.Tx.Query("SELECT "+strings.Join(texts, ", "), func(chunk *engine.Chunk) error {
			list[i] = make([]cell, len(columns))
			for j := range columns {
				if c := chunk.Column(j); c.Valid(0) {
					list[i][j].text = string(c.Bytes(0))
				} else if values[j] != nil {
					return fmt.Errorf("rows[%d]: %v is no %s, the type of %s", i, values[j], columns[j].Type, columns[j].Name)
				} else {
					list[i][j].null = true
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// compare reports how the rows differ from the expected ones, in any order.
func compare(columns []engine.Column, want, got [][]cell, tolerance float64) error {
	rest := slices.Clone(got)
	for _, row := range want {
		i := slices.IndexFunc(rest, func(r []cell) bool { return sameRow(columns, row, r, tolerance) })
		if i < 0 {
			return fmt.Errorf("want %s, got %s", show(want), show(got))
		}
		rest = slices.Delete(rest, i, i+1)
	}
	if len(rest) > 0 {
		return fmt.Errorf("want %s, got %s", show(want), show(got))
	}
	return nil
}

func sameRow(columns []engine.Column, a, b []cell, tolerance float64) bool {
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		if a[i].null || b[i].null || !numeric(columns[i].Type.String()) {
			return false
		}
		x, err1 := strconv.ParseFloat(a[i].text, 64)
		y, err2 := strconv.ParseFloat(b[i].text, 64)
		if err1 != nil || err2 != nil || x != y && math.Abs(x-y) > tolerance {
			return false
		}
	}
	return true
}

// show writes the first rows for a message.
func show(rows [][]cell) string {
	const most = 5
	var parts []string
	for _, row := range rows[:min(len(rows), most)] {
		cells := make([]string, len(row))
		for i, c := range row {
			if cells[i] = c.text; c.null {
				cells[i] = "NULL"
			}
		}
		parts = append(parts, "("+strings.Join(cells, ", ")+")")
	}
	switch {
	case len(rows) == 0:
		return "no rows"
	case len(rows) > most:
		parts = append(parts, fmt.Sprintf("and %d more", len(rows)-most))
	}
	return strings.Join(parts, ", ")
}

package diff

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/test/portable"
)

// difference is how a target differs from PostgreSQL.
type difference struct {
	kind      string // values, refused, accepts
	message   string // of the target's error, or of PostgreSQL's
	got, want [][]any
}

// compare returns nil if a target returns what PostgreSQL does, or fails as well.
func (v *versus) compare(ctx context.Context, t target, s portable.Statement) *difference {
	want, wantErr := askText(ctx, v.postgres, s.SQL)
	if wantErr == nil {
		wantErr = canonical(want, s.Columns)
	}
	if t.finite {
		dropInfinite(want)
	}
	got, err := t.ask(ctx, s.SQL)
	if err == nil {
		err = canonical(got, s.Columns)
	}
	switch {
	case ctx.Err() != nil || wantErr != nil && strings.Contains(wantErr.Error(), "statement timeout"):
		return nil
	case wantErr != nil:
		return &difference{kind: accepts, message: wantErr.Error()}
	case err != nil:
		return &difference{kind: refused, message: err.Error()}
	case !equalRows(got, want, s.Columns, s.Ordered):
		return &difference{kind: values, got: got, want: want}
	}
	return nil
}

// specific are the parts of messages that differ from statement to statement.
var specific = regexp.MustCompile(`"[^"]*"|'[^']*'|\d+|LINE(.|\n)*`)

func (d difference) same(other *difference) bool {
	return other != nil && d.kind == other.kind && specific.ReplaceAllString(d.message, "") == specific.ReplaceAllString(other.message, "")
}

// mostShrinking limits the search for the smallest statement.
const mostShrinking = 20 * time.Second

// judge counts a difference that is known, and prints one that is not: as the smallest
// statement that still has it.
func (v *versus) judge(ctx context.Context, t target, s portable.Statement, d *difference) {
	if d.kind == refused {
		if k := t.match(v.text(s), *d); k != nil {
			v.report.Known[k.name]++
			return
		}
	}
	end := time.Now().Add(mostShrinking)
	small := v.catalog.Shrink(s, func(s portable.Statement) bool {
		return ctx.Err() == nil && time.Now().Before(end) && d.same(v.compare(ctx, t, s))
	})
	if again := v.compare(ctx, t, small); again != nil {
		d = again
	}
	if ctx.Err() != nil {
		return
	}
	if k := t.match(v.text(small), *d); k != nil {
		v.report.Known[k.name]++
		return
	}
	if d.kind == accepts {
		v.report.Generator++
	} else {
		v.report.Unknown++
	}
	v.print(ctx, t, small, d)
}

// text is a statement with the bodies of the functions that it calls, and of those that they
// call.
func (v *versus) text(s portable.Statement) string {
	text := s.SQL
	for _, f := range slices.Backward(v.catalog.Functions) {
		if strings.Contains(text, f.Name+"(") {
			text += "\n" + f.Body
		}
	}
	return text
}

func (v *versus) print(ctx context.Context, t target, s portable.Statement, d *difference) {
	fmt.Fprintf(v.Out, "%s: seed %d, cycle %d, isolation %s, %s\n  %s\n", strings.ToUpper(d.kind), v.Seed, v.Cycle, v.isolation, t.name, s.SQL)
	for _, f := range v.catalog.Functions {
		if slices.Contains(s.Calls, f.Name) {
			fmt.Fprintf(v.Out, "  where %s\n", strings.ReplaceAll(f.YAML(), "\n", "\n    "))
		}
	}
	if d.message != "" {
		fmt.Fprintf(v.Out, "  %s\n", strings.ReplaceAll(d.message, "\n", "\n    "))
	}
	if d.kind == values {
		fmt.Fprintf(v.Out, "  spiced gave     %s\n  PostgreSQL gave %s\n", shownRows(d.got), shownRows(d.want))
	}
	if len(s.Calls) == 0 {
		fmt.Fprintf(v.Out, "  DuckDB gives    %s\n", v.inDuckDB(ctx, t, s, d))
	}
}

// inDuckDB is what plain DuckDB gives, which shows whose fault a difference is.
func (v *versus) inDuckDB(ctx context.Context, t target, s portable.Statement, d *difference) string {
	rows, err := v.duckDB().ask(ctx, s.SQL)
	if err == nil {
		err = canonical(rows, s.Columns)
	}
	if t.finite {
		dropInfinite(rows)
	}
	switch {
	case err != nil:
		return err.Error()
	case equalRows(rows, d.want, s.Columns, s.Ordered):
		return "what PostgreSQL gave"
	case equalRows(rows, d.got, s.Columns, s.Ordered):
		return "what spiced gave"
	}
	return shownRows(rows)
}

// duckDB is plain DuckDB, which has no functions of the catalog.
func (v *versus) duckDB() target {
	return target{name: "duckdb", plain: true, ask: func(ctx context.Context, sql string) ([][]any, error) {
		forms, err := v.plain.query(ctx, sql)
		if invalidated(err) {
			err = errors.Join(err, v.again(ctx))
		}
		return textValues(forms[formText].rows), err
	}}
}

// again makes plain DuckDB again.
func (v *versus) again(ctx context.Context) (err error) {
	v.plain.db.Close()
	if v.plain, err = newOracle(ctx); err != nil {
		return err
	}
	for _, t := range v.catalog.Tables {
		err = errors.Join(err, v.plain.exec(ctx, t.Create(t.Name)), v.plain.exec(ctx, t.Insert(t.Name)))
	}
	return err
}

func shownRows(rows [][]any) string {
	out := fmt.Sprintf("%d rows: ", len(rows))
	for _, row := range rows {
		if out += fmt.Sprintf("%v ", row); len(out) > 600 {
			return out + "…"
		}
	}
	return out
}

package infer

import (
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/cputime"
)

func FuzzParametersOfText(f *testing.F) {
	for _, seed := range []string{
		"SELECT $1::int4[], CAST($2 AS DECIMAL(10, 2))", "id = ANY ($1) AND a.b <> all($2) AND f((x), y) = any($3)", "$1::a.b(c(d))[", "any($1)", ") = any($1)",
		"a.b + $1 * f(x)[1]::t(1)", "$1 - $2 / (", "DATE 'x' - $1 + $2::int % $3", "$1 +", "* $1 * x::",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		for name, typ := range casts(sql) {
			if typ == "" || !strings.Contains(sql, typ) || !strings.Contains(sql, "$"+name) {
				t.Errorf("$%s is cast to %q in %q", name, typ, sql)
			}
		}
		same := replaceParams(sql, func(r scanner, i int) string {
			if operand, _ := r.operandOf(i); !strings.Contains(sql, operand) {
				t.Errorf("%q is not in %q", operand, sql)
			}
			if list := r.listOf(i); list != "" && !strings.Contains(sql, list[1:len(list)-1]) {
				t.Errorf("%q is not in %q", list, sql)
			}
			return "$" + r.param(i)
		})
		if same != sql {
			t.Errorf("%q became %q", sql, same)
		}
	})
}

// Looking for types and values takes no longer for each than for the one before.
func TestParametersOfLongTexts(t *testing.T) {
	const n = 50_000
	within := cputime.Limit(t, 10*time.Second)
	for _, sql := range []string{
		strings.Repeat("(", n) + "x" + strings.Repeat(") = any($1)", n), strings.Repeat("$1::x(", n), strings.Repeat("$1::x[", n), "$1::" + strings.Repeat("x.", n),
		strings.Repeat("x.", n) + "y" + strings.Repeat(" = any($1)", n), strings.Repeat("$1 + ", n), strings.Repeat("$1 + (", n),
		strings.Repeat("x + $1 + x", n) + strings.Repeat("::x", n),
	} {
		casts(sql)
		replaceParams(sql, func(r scanner, i int) string {
			operand, _ := r.operandOf(i)
			return r.listOf(i) + operand
		})
	}
	within()
}

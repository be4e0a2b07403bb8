package sqlapi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/doctable"
)

// TestEveryCodeHasAStatus reads the codes from the source of package errcode.
func TestEveryCodeHasAStatus(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "../internal/kit/errcode/errcode.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[errcode.Code]int{}
	for _, row := range errorCodes {
		if rows[row.code]++; rows[row.code] > 1 {
			t.Errorf("%s has two rows", row.code)
		}
	}
	codes := 0
	ast.Inspect(source, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if codes++; rows[errcode.Code(text)] != 1 {
			t.Errorf("%s has no row", text)
		}
		if !errcode.Code(text).Known() {
			t.Errorf("%s is not known", text)
		}
		return true
	})
	if codes < 20 {
		t.Errorf("found %d codes", codes)
	}
}

// TestDocsOfErrors compares docs/errors.md with the statuses of codes, and with which
// may be tried again.
func TestDocsOfErrors(t *testing.T) {
	rows := doctable.Read(t, "../docs/errors.md", "Code")
	for _, row := range errorCodes {
		documented := rows[string(row.code)]
		if documented == nil {
			t.Errorf("%s is not in docs/errors.md", row.code)
			continue
		}
		delete(rows, string(row.code))
		if want := strconv.Itoa(row.status); documented["HTTP"] != want {
			t.Errorf("%s: status %s is documented; it is %s", row.code, documented["HTTP"], want)
		}
		if got := documented["Retry"] == "retry"; got != row.code.Retryable() {
			t.Errorf("%s: whether it may be tried again is documented wrongly: %t", row.code, got)
		}
	}
	for name := range rows {
		t.Errorf("docs/errors.md has %s, which is no code", name)
	}
}

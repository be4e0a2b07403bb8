package sqlapi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
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
		return true
	})
	if codes < 20 {
		t.Errorf("found %d codes", codes)
	}
}

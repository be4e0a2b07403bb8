package sandbox_test

import (
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func stringReader(s string) io.Reader { return strings.NewReader(s) }

func TestCall(t *testing.T) {
	o := options(t)
	p := newPool(t, o)
	t.Logf("%+v", p.Isolation())
	got, err := call(t, p, "def f(x: int) -> int:\n    return x * 2 + 1\n", arrow.PrimitiveTypes.Int64, column{"x", arrow.PrimitiveTypes.Int64, "[1,2,3]"})
	if err != nil || got != "[3,5,7]" {
		t.Fatal(got, err)
	}
}

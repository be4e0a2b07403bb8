package copies

import (
	"testing"
)

func TestColumnList(t *testing.T) {
	for text, want := range map[string]string{"a": `"a"`, "(a, b)": `"a", "b"`, `("a""b", c )`: `"a""b", "c"`} {
		if got := columnList(text); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

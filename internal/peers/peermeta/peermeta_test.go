package peermeta_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/peers/peermeta"
)

func TestCycle(t *testing.T) {
	via := peermeta.Extend(peermeta.Extend(nil, "far"), "near")
	for _, c := range []struct {
		via  []string
		id   string
		want bool
	}{
		{nil, "me", false},
		{via, "me", false},
		{via, "far", true},
		{via, "near", true},
		{[]string{""}, "", false},
		{strings.Split("a b c d e", " "), "me", false},
		{strings.Split("a b c d e f", " "), "me", true},
	} {
		if got := peermeta.Cycle(c.via, c.id); got != c.want {
			t.Errorf("Cycle(%q, %q) = %t", c.via, c.id, got)
		}
	}
}

// TestHostileMeta has values that a server might send.
func TestHostileMeta(t *testing.T) {
	for _, c := range []struct {
		value any
		want  int
	}{{nil, 0}, {2.0, 2}, {3, 3}, {-1.0, peermeta.MaxHops}, {1e300, peermeta.MaxHops}, {"1", peermeta.MaxHops}, {true, peermeta.MaxHops}} {
		if got := peermeta.Number(c.value); got != c.want {
			t.Errorf("Number(%v) = %d, want %d", c.value, got, c.want)
		}
	}
	if got := peermeta.Words([]any{"a", 1.0, "", strings.Repeat("x", 1000), "b", "c"}, 5); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("words: %q", got)
	}
	if peermeta.Words("a", 5) != nil {
		t.Error("a text is no list")
	}
	var e struct{ Code string }
	if peermeta.Decode(nil, &e) || peermeta.Decode([]any{1}, &e) || !peermeta.Decode(map[string]any{"code": "x"}, &e) || e.Code != "x" {
		t.Errorf("decoded %+v", e)
	}
}

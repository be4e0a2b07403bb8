package builtin

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// FuzzOrderBy checks that nothing but a declared column gets into the SQL.
func FuzzOrderBy(f *testing.F) {
	for _, text := range []string{"id", "id DESC", `"id"ASC`, `a"b`, `"a""b" desc`, "order day DESC", "id; DROP TABLE t", "id DESC, id", "\x00", "DESC"} {
		f.Add(text)
	}
	columns := []Column{{Name: "id"}, {Name: `a"b`}, {Name: "order day"}, {Name: "DESC"}}
	var allowed []string
	for _, c := range columns {
		for _, direction := range []string{"", " ASC", " DESC"} {
			allowed = append(allowed, engine.Identifier(c.Name)+direction)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		order, err := orderBy(text, columns)
		if err == nil && !slices.Contains(allowed, order) {
			t.Errorf("%q became %q", text, order)
		}
	})
}

// FuzzCutStrings checks that cut JSON is JSON, with short strings.
func FuzzCutStrings(f *testing.F) {
	for _, text := range []string{"", strings.Repeat("x", 513), strings.Repeat("\"", 600), strings.Repeat("é\n", 300), strings.Repeat("\\", 513), "\x00\u2028"} {
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, times int) {
		if len(text) > 1<<10 || !utf8.ValidString(text) {
			return
		}
		text = strings.Repeat(text, clamp(times, 1, 1000))
		line, err := tools.Encode(map[string]any{"k": []any{text, 1.5, nil}, "short": "s"})
		if err != nil {
			t.Fatal(err)
		}
		value, err := tools.Decode(cutStrings(line))
		if err != nil {
			t.Fatalf("%v in %s", err, cutStrings(line))
		}
		got := value.(map[string]any)["k"].([]any)[0].(string)
		want := text
		if runes := []rune(text); len(runes) > MaxText {
			want = string(runes[:MaxText]) + "…"
		}
		if got != want {
			t.Errorf("%q became %q", text, got)
		}
	})
}

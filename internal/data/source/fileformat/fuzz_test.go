package fileformat

import (
	"context"
	"slices"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// FuzzSource checks that the SQL of any `from` and params is one call of a reader,
// with each value in a literal.
func FuzzSource(f *testing.F) {
	for _, s := range []string{"a.csv", "a'b.csv", "a\\'--.json", "x[1]*?.parquet", "$1;'", "a\x00.csv", "é\u2028.tsv"} {
		f.Add(s, "delim", s)
		f.Add(s, "columns", s)
		f.Add(s, "hive_types", s)
	}
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(db.Close)
	f.Fuzz(func(t *testing.T, path, key, value string) {
		for _, format := range formats {
			var given any = spicepod.Text{Raw: value}
			if kind := format.options[key]; kind == spicepod.ParamTextsMap || kind == spicepod.ParamTextMap {
				given = map[string]any{value: spicepod.Text{Raw: value}}
			}
			settings, err := format.settings(spicepod.Params{key: given}, nil)
			if err != nil {
				settings = nil
			}
			sql := "SELECT * FROM " + scan{format, []string{EscapeGlob(path)}, settings}.SQL()
			st, err := db.Parse(t.Context(), sql)
			if err != nil {
				continue // a NUL byte or bytes that are not UTF-8
			}
			st.Calls = slices.DeleteFunc(st.Calls, func(c sqltree.Call) bool { return c.Name == "struct_pack" || c.Name == "list_value" })
			if len(st.Calls) != 1 || st.Calls[0].Name != format.reader || len(st.Relations) != 0 || st.Subquery {
				t.Fatalf("%q became %s", path, sql)
			}
		}
	})
}

package results_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// FuzzRef asks for results by any name and in any spelling of the call: no one
// but the owner reads the existing one, and every failure has the same error.
func FuzzRef(f *testing.F) {
	w := newWorld(f, spicepod.Results{})
	r := w.must("ada", "SELECT 'of ada alone' AS secret")
	for _, seed := range []string{
		"FROM ref('NAME')", "FROM ref(\"NAME\")", "FROM ref($$NAME$$)", "FROM \"NAME\".main.result", "FROM \"NAME\".result", "FROM REF('NAME') AS r",
		"SELECT (SELECT secret FROM ref('NAME'))", "WITH ref AS (SELECT 1) FROM ref, ref('NAME')", "FROM ref('NAME', 'NAME')", "FROM ref(name := 'NAME')",
		"FROM ref('' || 'NAME')", "FROM ref('NAME\x00')", "FROM ref('r_')", "FROM ref('../NAME.duckdb')", "FROM 'NAME.duckdb'", "DESCRIBE FROM ref('NAME')",
		"SUMMARIZE FROM ref('NAME')", "FROM query('FROM ref(''NAME'')')", "FROM query_table('NAME.main.result')", "FROM main.ref('NAME')", "EXPLAIN FROM ref('NAME')",
		"FROM ref(ref('NAME'))", "FROM ref(e'NAME')", "FROM duckdb_tables()", "SHOW ALL TABLES", "FROM ref('NAME') JOIN ref('NAME') USING (secret)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sql := strings.ReplaceAll(text, "NAME", r.Name)
		got, err := w.query("eve", sql)
		if strings.Contains(got, "of ada alone") {
			t.Errorf("%s: eve reads %s", sql, got)
		}
		var e *engine.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%s: %v is no *engine.Error", sql, err)
		}
		if _, err := w.query("ada", sql); err != nil && engine.AsError(err).Code == errcode.Internal {
			t.Errorf("%s: %v", sql, err)
		}
	})
}

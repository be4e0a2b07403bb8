package pgwire_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/udf"
)

// withCatalog is a server whose database has the catalog of PostgreSQL, which
// knows the view shapes: the columns of types, and lists of every form.
func withCatalog(t *testing.T) *fixture {
	t.Helper()
	db, err := openDB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	udf.Serve(db, nil)
	shapes := engine.Relation{Schema: "public", Name: "shapes"}
	catalog := engine.NewCatalog(engine.Contents{Generation: 2, Relations: append(pgcatalog.Relations(), shapes)})
	err = db.Publish(context.Background(), catalog, func(tx *engine.Tx) error {
		sqls := append(datasets.Tables(), `CREATE VIEW spice.public.shapes AS SELECT *, NULL AS "null", [NULL] AS nulls,
			NULL::BIT[] AS bits, NULL::JSON[] AS jsons, NULL::TIMETZ[3] AS times, NULL::ENUM('a]')[] AS enums, NULL::ENUM('][]') AS enum2,
			NULL::STRUCT(a INTEGER[])[] AS structs, NULL::MAP(INTEGER, INTEGER[])[] AS maps, NULL::DECIMAL(9, 2)[][] AS nested_decimals,
			NULL::INTEGER[3][] AS list_of_fixed, NULL::INTEGER[][3] AS fixed_of_lists, NULL::INTEGER[2][3] AS fixed_of_fixed,
			NULL::TIMESTAMPTZ[][][] AS deep FROM spice.public.types`,
			"INSERT INTO spice.spiced.datasets (\"schema\", \"name\", kind, state) VALUES ('public', 'shapes', 'view', 'ready')",
			`INSERT INTO spice.spiced.dataset_columns SELECT schema_name, table_name, column_index, column_name, data_type, NULL
				FROM duckdb_columns() WHERE table_name = 'shapes'`)
		if err := execAll(tx, sqls); err != nil {
			return err
		}
		if err := udf.Setup(tx, db.Builtins()); err != nil {
			return err
		}
		return execAll(tx, pgcatalog.Setup())
	})
	if err != nil {
		t.Fatal(err)
	}
	return serveDB(t, db, func(o *pgwire.Options) {
		o.Rewrite, o.Catalog, o.Version = pgcatalog.RewriteFor, pgcatalog.OfCatalog, pgcatalog.ServerVersion
	})
}

func execAll(tx *engine.Tx, sqls []string) error {
	for _, sql := range sqls {
		if err := tx.Exec(sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// TestCatalogTellsTypesAsSent compares what pg_attribute says of each column
// with what comes on the wire.
func TestCatalogTellsTypesAsSent(t *testing.T) {
	f := withCatalog(t)
	c := f.raw()
	sent := c.ExecParams(f.context(), "SELECT * FROM shapes", nil, nil, nil, nil).Read()
	if sent.Err != nil {
		t.Fatal(sent.Err)
	}
	listed, _, err := f.simple(c, `SELECT attname, atttypid, attlen, atttypmod FROM pg_attribute
		WHERE attrelid = 'shapes'::regclass AND attnum > 0 ORDER BY attnum`)
	if err != nil || len(listed) != len(sent.FieldDescriptions) {
		t.Fatal(len(listed), err)
	}
	for i, d := range sent.FieldDescriptions {
		if want := fmt.Sprintf("%s|%d|%d|%d", d.Name, d.DataTypeOID, d.DataTypeSize, d.TypeModifier); listed[i] != want {
			t.Errorf("the catalog has %s, the server sent %s", listed[i], want)
		}
	}
}

// TestCatalogTellsSettingsAsShown compares current_setting with SHOW. Of some
// settings without effect SHOW knows no more than the name.
func TestCatalogTellsSettingsAsShown(t *testing.T) {
	f := withCatalog(t)
	c := f.raw()
	listed, _, err := f.simple(c, "SELECT name, current_setting(name), setting FROM pg_settings")
	if err != nil || len(listed) == 0 {
		t.Fatal(listed, err)
	}
	for _, line := range listed {
		parts := strings.Split(line, "|")
		shown, _, err := f.simple(c, "SHOW "+parts[0])
		if err != nil {
			t.Error(err)
			continue
		}
		if parts[1] != parts[2] || shown[0] != parts[1] && shown[0] != "" {
			t.Errorf("the catalog tells %s, SHOW %s", line, shown[0])
		}
	}
}

// TestCatalogTellsWhatCanBeSet compares the context of a setting with SET.
func TestCatalogTellsWhatCanBeSet(t *testing.T) {
	f := withCatalog(t)
	c := f.raw()
	listed, _, err := f.simple(c, "SELECT name, context, setting FROM pg_settings")
	if err != nil || len(listed) == 0 {
		t.Fatal(listed, err)
	}
	for _, line := range listed {
		parts := strings.Split(line, "|")
		_, _, err := f.simple(c, "SET "+parts[0]+" = '"+parts[2]+"'")
		if got := err == nil; got != (parts[1] == "user") {
			t.Errorf("the catalog tells %s, SET %v", line, err)
		}
	}
}

// What a parameter is cast to is its type, also where DuckDB would take it for
// several, and the columns are known before it has a value.
func TestParametersThatAreCast(t *testing.T) {
	c := withCatalog(t).connect("")
	for sql, want := range map[string]string{ // behind a #: the client tells a type
		"SELECT 1 FROM range(3) WHERE range = $1::INTEGER":                                                           "[23] [23]",
		"SELECT range FROM range(3) WHERE CAST($1 AS SMALLINT) < range":                                              "[21] [20]",
		"SELECT range FROM range(3) WHERE range = $1":                                                                "[20] [20]",
		"SELECT $1::TIMESTAMP WITH TIME ZONE IS NULL, range + $2::INTEGER FROM range(3)":                             "[1184 23] [16 20]",
		"SELECT json_object($1::VARCHAR, range), range FROM range(3) WHERE range > $2::DOUBLE PRECISION":             "[25 701] [114 20]",
		"SELECT list_contains($1::BIGINT[], range) FROM range(3) WHERE range < $2::DECIMAL(10, 2)":                   "[1016 1700] [16]",
		"SELECT $1 AS a, $2::INTEGER + 1::BIGINT AS b":                                                               "[25 23] [25 20]",
		"SELECT $1::OID, $2::oid[] IS NULL, $3::pg_catalog.oid":                                                      "[26 1028 26] [20 16 20]",
		"SELECT list(oid) FROM pg_type WHERE oid = ANY ($1::oid[])":                                                  "[1028] [1028]",
		"SELECT range FROM range(3) WHERE range = ANY ($1)":                                                          "[1016] [20]",
		"SELECT range + $2::INTEGER AS s, * FROM range(3) t WHERE t.range <> ALL($1) AND lower('A' || $3) = any($4)": "[1016 23 25 1009] [20 20]",
		"SELECT range FROM range(3) WHERE range::VARCHAR = ANY ($1)":                                                 "[1009] [20]",
		"SELECT range FROM range(3) WHERE NOT (range) = ANY ($1)":                                                    "[1016] [20]",
		"SELECT $1 || 'y'": "[25] [25]",
		"SELECT relname, relkind FROM pg_class WHERE relname !~ $1 AND relnatts >= $2": "[25 21] [25 25]",
		"SELECT $1, typname FROM pg_type WHERE typlen = $2":                            "[25 21] [25 25]",
		"SELECT $1::VARCHAR || 'y', $2":                                                "[25 25] [25 25]",
		"SELECT json_object('a', $1), range FROM range(3)#int2":                        "[21] [114 20]",
		"SELECT json_object($1, $2), range FROM range(3) WHERE range = $3":             "[25 25 20] [114 20]",
		"SELECT list(range) FROM range(3)":                                             "[] [1016]",
		"SELECT count(*) FROM range(3) WHERE range = $1 + 1":                           "[23] [20]",
		"SELECT count(*) FROM range(3) WHERE range BETWEEN $1 - 1 AND $1 + 1":          "[23] [20]",
		"SELECT range - $1 AS d, $2 FROM range(3) WHERE range = $3":                    "[20 25 20] [20 25]",
		"SELECT 1 FROM range(3) t WHERE (t.range + 1) % $1 = 0 AND 2 * $2 < range":     "[20 23] [23]",
		"SELECT 1 FROM range(3) WHERE abs(sqrt(range) - $1) < 1":                       "[701] [23]",
		"SELECT 2.5 * $1 + $2 * range, $3 + $4 + range FROM range(3)":                  "[1700 20 20 20] [1700 20]",
		"SELECT $1 - range::DOUBLE, $2 * (SELECT 1::SMALLINT) FROM range(3)":           "[701 21] [701 21]",
		"SELECT $1 * 1.5::DECIMAL(9, 2), 1::UTINYINT + $2":                             "[1700 21] [1700 21]",
		"SELECT $1 + 1, $1 || 'y'":                                                     "[23] [23 25]",
		"SELECT range + $1 FROM range(3)#int2":                                         "[21] [20]",
		"SELECT now() - $1, DATE '2024-02-29' - $2":                                    "[1184 1082] [1186 20]",
		"SELECT DATE '2024-02-29' + $1, $2 * INTERVAL '1 day'":                         "[1186 701] [1114 1186]",
		"SELECT abs($1), round($2, 2)":                                                 "[701 701] [701 701]",
		"SELECT -$1, CASE WHEN true THEN 1 END - $2":                                   "[701 701] [701 701]",
		"SELECT range = $1 AND abs($2) > 1 AND abs($3) > 1 FROM range(3)":              "[20 701 701] [16]",
		"SELECT json_object('a', range = $1), $2 FROM range(3) WHERE range < $3":       "[20 25 20] [114 25]",
		"SELECT repeat(json_object('a', $1), 2)":                                       "[25] [25]",
		"SELECT r.range, 'x' AS b FROM range(3) r SEMI JOIN range(2) s ON (SELECT max(x) FROM (VALUES (1)) v(x)) = length(json_object('a', " +
			"s.range || $1))": "[25] [20 25]",
		"SELECT 1 FROM range(3) WHERE range + $1 = ANY ($2)": "[20 1016] [23]",
	} {
		text, listed, _ := strings.Cut(sql, "#")
		var given []uint32
		if listed != "" {
			given = []uint32{pgtype.Int2OID}
		}
		d, err := c.PgConn().Prepare(t.Context(), "", text, given)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		columns := make([]uint32, len(d.Fields))
		for i, f := range d.Fields {
			columns[i] = f.DataTypeOID
		}
		if got := fmt.Sprint(d.ParamOIDs, columns); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	var oids []uint32
	if err := c.QueryRow(t.Context(), "SELECT list(oid ORDER BY oid) FROM pg_type WHERE oid = ANY ($1::oid[])", []uint32{25, 16}).Scan(&oids); err != nil ||
		!slices.Equal(oids, []uint32{16, 25}) {
		t.Errorf("OIDs in binary: %v, %v", oids, err)
	}
}

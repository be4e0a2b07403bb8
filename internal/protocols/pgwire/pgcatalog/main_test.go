package pgcatalog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/udf"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if world != nil {
		world.Close()
	}
	if err := goleak.Find(); code == 0 && err != nil {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

// world is the database that all tests read. It is made once: they only read.
var (
	world    *engine.DB
	worldErr error
	once     sync.Once
)

func open(t testing.TB) *engine.DB {
	t.Helper()
	once.Do(func() { world, worldErr = start(t) })
	if worldErr != nil {
		t.Fatal(worldErr)
	}
	return world
}

const pod = `version: v1
kind: Spicepod
name: test
functions:
- name: haversine
  from: sql
  description: Distance of two places in km.
  volatility: immutable
  signature:
    args: [{ name: lat, type: float64 }, { name: lon, type: float64, default: 0 }]
    returns: float64
  body: lat + lon
- name: top_orders
  from: sql
  kind: table
  description: The largest orders after one.
  signature:
    args: [{ name: n, type: int64 }, { name: tags, type: list<utf8> }]
    returns: [{ name: id, type: int64 }, { name: amount, type: 'decimal(18,3)' }]
  body: SELECT id, amount FROM orders WHERE id > (SELECT n FROM args) ORDER BY amount DESC
`

// data is what a daemon would have made of datasets and views: a dataset is a
// view of what the source attached, and what is internal lies next to it.
var data = []string{
	`CREATE TABLE spice.core.orders_copy (id BIGINT NOT NULL, customer VARCHAR, amount DECIMAL(18,3), placed TIMESTAMPTZ, tags VARCHAR[], address STRUCT(city VARCHAR, zip INTEGER))`,
	`CREATE VIEW spice.public.orders AS SELECT * FROM spice.core.orders_copy`,
	`CREATE TABLE spice.public.customers (id INTEGER NOT NULL, "Full Name" VARCHAR, born DATE, score DOUBLE, key UUID, note JSON, raw BLOB, active BOOLEAN, big HUGEINT, t TIME, span INTERVAL, small UTINYINT, mood ENUM ('ok', 'sad'))`,
	`CREATE VIEW spice.public.large_orders AS SELECT * FROM spice.public.orders WHERE amount > 1000`,
	`CREATE SCHEMA spice.sales`,
	`CREATE TABLE spice.sales.totals (region VARCHAR, total BIGINT)`,
	`CREATE TABLE spice.public.undeclared (secret_column VARCHAR)`,
	`CREATE VIEW spice.core.secret_view AS SELECT 'secret_text' AS secret_column`,
	`CREATE MACRO spice.core.secret_macro(x) AS x || 'secret_text'`,
}

var declared = [][]any{
	{"public", "orders", "dataset", "file:orders.parquet", "All orders.", "parquet", true, "memory", "ready", 12, 6, nil, nil, "spicepod.yaml", 3},
	{"public", "customers", "dataset", "file:customers.parquet", nil, "parquet", false, nil, "ready", nil, 13, nil, nil, "spicepod.yaml", 9},
	{"public", "large_orders", "view", nil, "Orders above 1000.", nil, false, nil, "ready", nil, 6, nil, nil, "spicepod.yaml", 14},
	{"sales", "totals", "dataset", "file:totals.csv", "Totals by region.", "csv", false, nil, "ready", 4, 2, nil, nil, "spicepod.yaml", 18},
	{"public", "broken", "dataset", "file:none.csv", "Has no file.", "csv", false, nil, "error", nil, 0, nil, "no such file", "spicepod.yaml", 22},
}

// constraints are of a dataset that can be written.
var constraints = [][]any{
	{"public", "customers", "customers_id_pkey", "PRIMARY KEY", []string{"id"}},
	{"public", "customers", "customers_key_Full Name_key", "UNIQUE", []string{"key", "Full Name"}},
	{"public", "customers", "customers_id_not_null", "NOT NULL", []string{"id"}},
}

// describe fills spiced.dataset_columns.
const describe = `INSERT INTO spice.spiced.dataset_columns
	SELECT schema_name, table_name, column_index, column_name, data_type,
		CASE WHEN table_name = 'orders' THEN CASE column_name WHEN 'customer' THEN 'Who ordered.' WHEN 'amount' THEN 'In euros.' END END
	FROM duckdb_columns() JOIN spice.spiced.datasets ON "schema" = schema_name AND "name" = table_name WHERE database_name = 'spice'`

// readable are the relations that statements may read.
var readable = []engine.Relation{
	{Schema: "public", Name: "orders"},
	{Schema: "public", Name: "customers"},
	{Schema: "public", Name: "large_orders"},
	{Schema: "sales", Name: "totals"},
	{Schema: engine.System, Name: datasets.DatasetsTable},
	{Schema: engine.System, Name: datasets.ColumnsTable},
}

func start(t testing.TB) (*engine.DB, error) {
	ctx, dir := context.Background(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(pod), 0o600); err != nil {
		return nil, err
	}
	parsed, err := spicepod.Load(dir)
	if err != nil {
		return nil, err
	}
	db, err := engine.Open(ctx, engine.Options{Threads: 1})
	if err != nil {
		return nil, err
	}
	udf.Serve(db, nil)
	if err := db.Exec(ctx, "ATTACH ':memory:' AS secret_database"); err != nil {
		return db, err
	}
	if err := db.Exec(ctx, "CREATE TABLE secret_database.main.secret_table (secret_column INTEGER)"); err != nil {
		return db, err
	}
	if err := db.Lock([]string{dir}); err != nil {
		return db, err
	}
	if err := db.Publish(ctx, engine.NewCatalog(engine.Contents{}), func(tx *engine.Tx) error { return setup(tx, db) }); err != nil {
		return db, err
	}
	return db, fill(db, parsed)
}

func setup(tx *engine.Tx, db *engine.DB) error {
	if err := execAll(tx, datasets.Tables()); err != nil {
		return err
	}
	if err := udf.Setup(tx, db.Builtins()); err != nil {
		return err
	}
	return execAll(tx, pgcatalog.Setup())
}

// fill publishes the generation that the tests read.
func fill(db *engine.DB, parsed *spicepod.Pod) error {
	if err := db.Publish(context.Background(), engine.NewCatalog(engine.Contents{Generation: 1, Relations: readable}), func(tx *engine.Tx) error {
		return execAll(tx, data)
	}); err != nil {
		return err
	}
	relations := append(append(udf.Relations(), readable...), pgcatalog.Relations()...)
	set, problems := functions.Compile(context.Background(), db, parsed, relations, nil)
	if len(problems) > 0 {
		return problems
	}
	catalog := engine.NewCatalog(engine.Contents{Generation: 2, Relations: relations, Functions: append(set.Engine(), udf.Functions()...)})
	return db.Publish(context.Background(), catalog, func(tx *engine.Tx) error {
		for _, f := range set.Changed(nil) {
			if p := f.Create(tx, parsed, functions.Published()); p != nil {
				return p
			}
		}
		return errors.Join(
			udf.Fill(tx, parsed, set, nil, udf.Loading{}),
			// As the daemon does with each generation.
			execAll(tx, datasets.Tables()),
			tx.Insert(engine.System, datasets.DatasetsTable, declared),
			tx.Insert(engine.System, datasets.ConstraintsTable, constraints),
			execAll(tx, []string{describe}),
		)
	})
}

func execAll(tx *engine.Tx, statements []string) error {
	for _, sql := range statements {
		if err := tx.Exec(sql); err != nil {
			return err
		}
	}
	return nil
}

// query returns the rows of a statement as a PostgreSQL client would send it,
// as CSV. They are sorted unless the statement orders them.
func query(t testing.TB, sql string) (string, error) {
	t.Helper()
	text, _ := pgcatalog.Rewrite(sql)
	rows, err := open(t).Query(context.Background(), engine.Request{SQL: text})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	form, _ := format.ByName("csv")
	var out strings.Builder
	n, err := format.Copy(form.NewWriter(&out), rows)
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(out.String(), "\n")
	if n > 1 && !strings.Contains(strings.ToLower(sql), "order by") {
		slices.Sort(lines[1:])
	}
	return strings.Join(lines, ""), nil
}

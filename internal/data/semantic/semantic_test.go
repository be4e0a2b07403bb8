package semantic_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/data/semantic"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const declared = `semantic_models:
- { name: orders, primary_key: id, joins: [{ to: customers, name: customer, from_columns: customer_id }], dimensions: [{ name: status }, { name: ordered, type: time }] }
- { name: customers, primary_key: id, joins: [{ to: customers, name: referrer, from_columns: referred_by }], dimensions: [{ name: region, sql: upper(region) }] }
metrics:
- { name: revenue, semantic_model: orders, measure: sum(amount), filter: status = 'paid' }
- { name: customers_n, semantic_model: customers, measure: count(*) }
- { name: mean, numerator: revenue, denominator: customers_n }
- { name: faulty, semantic_model: orders, measure: sum(nosuch) }
`

// layer is the layer of the Spicepod above, in an engine with its tables and one more.
func layer(t testing.TB) (*engine.DB, *semantic.Layer) {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	var relations []engine.Relation
	for _, name := range []string{"orders", "customers", "secret"} {
		relations = append(relations, engine.Relation{Schema: engine.Public, Name: name})
	}
	var built semantic.Result
	catalog := engine.NewCatalog(engine.Contents{
		Generation: 1, Relations: relations,
		Written: map[string]engine.Written{engine.Metric: semantic.Written(func() *semantic.Layer { return built.Layer })},
	})
	err = db.Publish(t.Context(), catalog, func(tx *engine.Tx) error {
		for _, sql := range []string{
			"CREATE TABLE public.orders AS SELECT 1 AS id, 1 AS customer_id, 10 AS amount, 'paid' AS status, DATE '2024-05-06' AS ordered",
			"CREATE TABLE public.customers AS SELECT 1 AS id, NULL::INT AS referred_by, 'eu' AS region",
			"CREATE TABLE public.secret AS SELECT 'top' AS word",
		} {
			if err := tx.Exec(sql); err != nil {
				return err
			}
		}
		var err error
		built, err = semantic.Build(t.Context(), semantic.Request{
			DB: db, Tx: tx, Pod: podtest.Load(t, declared), Names: catalog, Failed: map[string]bool{}, Timeout: time.Minute,
			Missing: func(engine.Relation) string { return "" }, Waiting: func(engine.Relation) *engine.Error { return nil },
			Again: func(engine.Relation) bool { return true },
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Problems) != 1 || built.Problems[0].Component != "metric faulty" {
		t.Fatalf("problems: %v", built.Problems)
	}
	return db, built.Layer
}

// FuzzQuery: whatever a caller writes as condition and names, the query is one SELECT that reads
// the tables of the models and no other, and that aggregates as often as without it.
func FuzzQuery(f *testing.F) {
	for _, seed := range [][2]string{
		{"status = 'paid'", "region"},
		{"region IN ('EU') AND ordered__month = DATE '2024-05-01'", "ordered__year"},
		{"true) OR (SELECT word FROM secret) IS NULL --", "customer__referrer__region"},
		{"status = 'x') UNION ALL (SELECT 1", "metric_time"},
		{"list_filter([status], lambda status: status = 'x') IS NOT NULL", "\"status\""},
		{"status -> '$.a' IS NULL", "status' --"},
		{"ordered BETWEEN $1 AND $b /*", "metric_time__week"},
		{"true WHERE 1 = 1; DROP TABLE orders", "__by1"},
	} {
		f.Add(seed[0], seed[1])
	}
	db, l := layer(f)
	ctx := f.Context()
	parse := func(text string) (*sqltree.Statement, error) { return db.Parse(ctx, text) }
	f.Fuzz(func(t *testing.T, where, by string) {
		ctx = t.Context()
		q := semantic.Query{Metrics: []string{"mean", "revenue"}, Where: where, By: []string{by}, Limit: -1}
		sql, err := l.SQL(q, parse, semantic.Everything)
		if err != nil {
			return
		}
		st, err := parse(sql)
		if err != nil {
			if e := engine.AsError(err); strings.Contains(e.Message, "syntax error") {
				t.Fatalf("%q by %q makes %s: %v", where, by, sql, err)
			}
			return
		}
		for _, r := range st.Relations {
			if !slices.Contains([]string{"orders", "customers"}, r.Name) {
				t.Errorf("%q by %q reads %s: %s", where, by, r.Name, sql)
			}
		}
		sums := 0
		for _, c := range st.Calls {
			if c.Name == "sum" {
				sums++
			}
		}
		if sums != 1+strings.Count(strings.ToLower(where), "sum") {
			t.Errorf("%q by %q aggregates %d times: %s", where, by, sums, sql)
		}
	})
}

// TestCallsAreConstant: the arguments decide which columns there are, so that each is a constant.
func TestCallsAreConstant(t *testing.T) {
	db, _ := layer(t)
	for sql, want := range map[string]string{
		"FROM metric('revenue', by := ['region'], where := 'status = ''paid''', grain := 'day', order_by := '-revenue', limit := 3)": "",
		"FROM metric(metrics := ['revenue'], by := [])":                               "",
		"FROM metric(\"limit\" := 1, metrics := 'revenue')":                           "",
		"FROM metric('faulty')":                                                       `metric "faulty" has a fault and is not served`,
		"FROM metric($1)":                                                             "must be a constant",
		"FROM metric('reve' || 'nue')":                                                "must be a constant",
		"FROM metric('revenue', by := [upper('region')])":                             "must be a constant",
		"FROM metric('revenue', by := (SELECT 'region'))":                             "must be a constant",
		"FROM metric('revenue', where := NULL)":                                       "must be a constant",
		"FROM metric('revenue', limit := -1)":                                         "limit",
		"FROM metric('revenue', 'region')":                                            "argument 2 of metric has no name",
		"FROM metric('revenue', by := 'region', by := 'x')":                           `argument "by" of metric is given twice`,
		"FROM metric('revenue', group := 'region')":                                   `metric has no argument "group"`,
		"FROM metric(['revenue', 'REVENUE'])":                                         "named twice",
		"FROM metric('revenue', by := ['region', 'customer__region'])":                "named twice",
		"FROM metric('revenue', by := 'customer__referrer__region')":                  "",
		"FROM metric(['revenue', 'customers_n'], by := 'customer__referrer__region')": `semantic model customers has no dimension "customer__referrer__region"`,
		"FROM metric('revenue', grain := 'fortnight')":                                "there is no grain",
		"FROM metric('revenue', by := 'status__month')":                               "not of type time",
		"FROM metric(['revenue', 'customers_n'], by := 'region')":                     "",
		"FROM metric('revenue', by := ['" + strings.Repeat("x','", 30) + "'])":        "the limit is 20",
		"FROM metric('revenue', where := '" + strings.Repeat(" ", 5000) + "true')":    "the limit is 4096",
	} {
		rows, err := db.Query(t.Context(), engine.Request{SQL: sql})
		if err == nil {
			rows.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", sql, err, want)
		}
	}
}

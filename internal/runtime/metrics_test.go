package runtime

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// metricsPod starts a runtime over a copy of testdata/spicepods/metrics.
func metricsPod(t *testing.T) *rig {
	t.Helper()
	folder := "../../testdata/spicepods/metrics"
	f := files{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		f[e.Name()] = "raw:" + string(text)
	}
	r := start(t, f)
	r.problems(r.LastReport())
	return r
}

// questions are queries of metrics, each with the statement that a person writes for it: over
// joins of one and two hops, composite keys, a table joined twice and one joined with itself,
// filters, grains, several facts, ratios and derived metrics.
var questions = []struct{ metric, hand string }{
	{`metric('revenue')`, `SELECT sum(amount) FROM orders WHERE status = 'paid'`},
	{`metric('order_count')`, `SELECT count(*) FROM orders`},
	{`metric('buyers')`, `SELECT count(DISTINCT customer_id) FROM orders`},
	{`metric('average_item')`, `SELECT sum(amount) / sum(quantity) FROM orders`},
	{`metric('visit_count')`, `SELECT sum(visits) FROM visits`},
	{`metric('customer_count')`, `SELECT count(*) FROM customers`},
	{`metric('order_count', by := 'status')`, `SELECT coalesce(status, 'unknown') AS s, count(*) FROM orders GROUP BY s`},
	{`metric('order_count', by := ['size'])`, `SELECT CASE WHEN quantity > 3 THEN 'large' ELSE 'small' END AS s, count(*) FROM orders GROUP BY s`},
	{`metric('order_count', by := ['customer__segment'])`, `SELECT c.segment, count(*) FROM orders o LEFT JOIN customers c USING (customer_id) GROUP BY 1`},
	{`metric('revenue', by := 'category')`, `SELECT p.category, sum(o.amount) FROM orders o LEFT JOIN products p ON p.product_id = o.product_id AND p.variant = o.variant WHERE o.status = 'paid' GROUP BY 1`},
	{`metric('revenue', by := ['category', 'expensive'])`, `SELECT p.category, p.price > 30, sum(o.amount) FROM orders o LEFT JOIN products p ON p.product_id = o.product_id AND p.variant = o.variant WHERE o.status = 'paid' GROUP BY 1, 2`},
	{`metric('revenue', by := ['customer__home__continent'])`, `SELECT n.continent, sum(o.amount) FROM orders o LEFT JOIN customers c USING (customer_id) LEFT JOIN countries n ON n.code = c.country_code WHERE status = 'paid' GROUP BY 1`},
	{`metric('revenue', by := ['ship__country', 'bill__country'])`, `SELECT s.country, b.country, sum(o.amount) FROM orders o LEFT JOIN countries s ON s.code = o.ship_country LEFT JOIN countries b ON b.code = o.bill_country WHERE status = 'paid' GROUP BY 1, 2`},
	{`metric('revenue', by := ['ship__continent', 'customer__home__continent'])`, `SELECT s.continent, h.continent, sum(o.amount) FROM orders o LEFT JOIN countries s ON s.code = o.ship_country LEFT JOIN customers c USING (customer_id) LEFT JOIN countries h ON h.code = c.country_code WHERE status = 'paid' GROUP BY 1, 2`},
	{`metric('order_count', by := ['referrer__segment'])`, `SELECT r.segment, count(*) FROM orders o LEFT JOIN customers c USING (customer_id) LEFT JOIN customers r ON r.customer_id = c.referred_by GROUP BY 1`},
	{`metric('customer_count', by := ['segment', 'referrer__segment'])`, `SELECT c.segment, r.segment, count(*) FROM customers c LEFT JOIN customers r ON r.customer_id = c.referred_by GROUP BY 1, 2`},
	{`metric('order_count', by := ['ordered_at__day'])`, `SELECT ordered_at::DATE AS d, count(*) FROM orders GROUP BY d`},
	{`metric('order_count', by := ['ordered_at__week'])`, `SELECT date_trunc('week', ordered_at)::DATE AS d, count(*) FROM orders GROUP BY d`},
	{`metric('revenue', by := ['ordered_at__month'])`, `SELECT date_trunc('month', ordered_at)::DATE AS d, sum(amount) FROM orders WHERE status = 'paid' GROUP BY d`},
	{`metric('revenue', by := ['ordered_at'], grain := 'quarter')`, `SELECT date_trunc('quarter', ordered_at)::DATE AS d, sum(amount) FROM orders WHERE status = 'paid' GROUP BY d`},
	{`metric('revenue', by := ['metric_time'], grain := 'year')`, `SELECT date_trunc('year', ordered_at)::DATE AS d, sum(amount) FROM orders WHERE status = 'paid' GROUP BY d`},
	{`metric('order_count', by := ['ordered_at__hour', 'status'])`, `SELECT date_trunc('hour', ordered_at) AS d, coalesce(status, 'unknown') AS s, count(*) FROM orders GROUP BY d, s`},
	{`metric('order_count', by := ['ordered_at'])`, `SELECT ordered_at AS d, count(*) FROM orders GROUP BY d`},
	{`metric('order_count', by := ['customer__signed_up__month', 'ordered_at__year'])`, `SELECT date_trunc('month', c.signed_up)::DATE AS s, date_trunc('year', ordered_at)::DATE AS d, count(*) FROM orders o LEFT JOIN customers c USING (customer_id) GROUP BY s, d`},
	{`metric('revenue', "where" := 'category = ''toys''')`, `SELECT sum(amount) FROM orders o JOIN products p USING (product_id, variant) WHERE o.status = 'paid' AND category = 'toys'`},
	{`metric('order_count', where := 'category IS NULL')`, `SELECT count(*) FROM orders o WHERE NOT EXISTS (FROM products p WHERE p.product_id = o.product_id AND p.variant = o.variant)`},
	{`metric('order_count', by := 'status', where := 'customer__segment = ''retail'' OR customer__segment IS NULL')`, `SELECT coalesce(status, 'unknown') AS s, count(*) FROM orders o LEFT JOIN customers c USING (customer_id) WHERE c.segment = 'retail' OR c.segment IS NULL GROUP BY s`},
	{`metric('revenue', by := 'ordered_at__month', where := 'ordered_at >= TIMESTAMP ''2024-03-15 12:00:00'' AND ordered_at < DATE ''2024-06-01''')`, `SELECT date_trunc('month', ordered_at)::DATE AS d, sum(amount) FROM orders WHERE status = 'paid' AND ordered_at >= TIMESTAMP '2024-03-15 12:00:00' AND ordered_at < DATE '2024-06-01' GROUP BY d`},
	{`metric('revenue', where := 'ordered_at__month = DATE ''2024-02-01'' AND ship__country IN (''Germany'', ''France'')')`, `SELECT sum(amount) FROM orders o JOIN countries s ON s.code = o.ship_country WHERE status = 'paid' AND ordered_at >= DATE '2024-02-01' AND ordered_at < DATE '2024-03-01' AND s.country IN ('Germany', 'France')`},
	{`metric('european_revenue', by := 'customer__home__country')`, `SELECT n.country, sum(o.amount) FROM orders o JOIN customers c USING (customer_id) JOIN countries n ON n.code = c.country_code WHERE status = 'paid' AND n.continent = 'Europe' GROUP BY 1`},
	{`metric('order_count', where := 'status = ''nonsense''')`, `SELECT 0`},
	{`metric('revenue', where := 'status = ''nonsense''')`, `SELECT NULL`},
	{`metric('revenue', by := 'category', where := 'status = ''nonsense''')`, `SELECT NULL, NULL WHERE false`},
	{`metric('average_order')`, `SELECT sum(amount) / count(*) FROM orders WHERE status = 'paid'`},
	{`metric(['revenue', 'order_count', 'paid_orders'], by := 'status')`, `SELECT coalesce(status, 'unknown') AS s, sum(amount) FILTER (WHERE status = 'paid'), count(*), count(*) FILTER (WHERE status = 'paid') FROM orders GROUP BY s`},
	{`metric(['revenue', 'refund'], by := 'metric_time__month')`, `SELECT coalesce(a.d, b.d), a.v, b.v FROM (SELECT date_trunc('month', ordered_at)::DATE AS d, sum(amount) AS v FROM orders WHERE status = 'paid' GROUP BY d) a FULL JOIN (SELECT date_trunc('month', returned_on)::DATE AS d, sum(refund) AS v FROM returns GROUP BY d) b ON a.d = b.d`},
	{`metric(['revenue', 'refund'], by := 'customer__segment')`, `SELECT coalesce(a.s, b.s), a.v, b.v FROM (SELECT c.segment AS s, sum(amount) AS v FROM orders LEFT JOIN customers c USING (customer_id) WHERE status = 'paid' GROUP BY 1) a FULL JOIN (SELECT c.segment AS s, sum(refund) AS v FROM returns LEFT JOIN customers c USING (customer_id) GROUP BY 1) b ON a.s IS NOT DISTINCT FROM b.s`},
	{`metric('net_revenue')`, `SELECT (SELECT sum(amount) FROM orders WHERE status = 'paid') - (SELECT sum(refund) FROM returns)`},
	{`metric('refund', by := ['status'])`, `SELECT coalesce(o.status, 'unknown'), sum(refund) FROM returns r JOIN orders o USING (order_id) GROUP BY 1`},
	{`metric('refund', by := ['category', 'returned_on__quarter'])`, `SELECT p.category, date_trunc('quarter', returned_on)::DATE AS q, sum(refund) FROM returns r JOIN orders o USING (order_id) LEFT JOIN products p USING (product_id, variant) GROUP BY 1, q`},
	{`metric('conversion', by := 'customer__segment')`, `SELECT s, (SELECT count(*) FROM orders LEFT JOIN customers c USING (customer_id) WHERE status = 'paid' AND c.segment IS NOT DISTINCT FROM s) / v FROM (SELECT c.segment AS s, sum(visits) AS v FROM visits LEFT JOIN customers c USING (customer_id) GROUP BY 1)`},
	{`metric(['conversion', 'visit_count', 'revenue'], by := ['metric_time'], grain := 'year', where := 'customer__home__continent = ''Europe''')`, `SELECT y, p / v, v, r FROM (SELECT year AS y, sum(v) AS v, sum(p) AS p, sum(r) AS r FROM (SELECT date_trunc('year', visited_on)::DATE AS year, visits AS v, NULL AS p, NULL AS r, customer_id FROM visits UNION ALL SELECT date_trunc('year', ordered_at)::DATE, NULL, 1, amount, customer_id FROM orders WHERE status = 'paid') JOIN customers USING (customer_id) JOIN countries ON code = country_code WHERE continent = 'Europe' GROUP BY y)`},
	{`metric('net_share', by := 'category')`, `SELECT category, round((r - coalesce(f, 0)) / r, 4) FROM (SELECT p.category, sum(amount) AS r FROM orders o LEFT JOIN products p USING (product_id, variant) WHERE o.status = 'paid' GROUP BY 1) JOIN (SELECT p.category AS c, sum(refund) AS f FROM returns JOIN orders o USING (order_id) LEFT JOIN products p USING (product_id, variant) GROUP BY 1) ON c IS NOT DISTINCT FROM category`},
	{`metric('revenue', by := 'customer__segment', order_by := ['-revenue'], limit := 1)`, `SELECT c.segment, sum(amount) AS v FROM orders LEFT JOIN customers c USING (customer_id) WHERE status = 'paid' GROUP BY 1 ORDER BY v DESC LIMIT 1`},
}

func TestMetricsAnswerAsSQLByHand(t *testing.T) {
	r := metricsPod(t)
	right := 0
	for _, q := range questions {
		got, err := r.ask("SELECT * FROM " + q.metric)
		if err != nil {
			t.Errorf("%s: %v", q.metric, err)
			continue
		}
		want, err := r.ask(q.hand)
		if err != nil {
			t.Fatalf("%s: %v", q.hand, err)
		}
		if !sameAnswers(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", q.metric, got, want)
			continue
		}
		right++
	}
	t.Logf("%d of %d are equal", right, len(questions))
}

// sameAnswers compares rows in any order, and numbers up to the error of sums of doubles.
func sameAnswers(a, b string) bool {
	x, y := answerRows(a), answerRows(b)
	return len(x) == len(y) && slices.EqualFunc(x, y, func(x, y string) bool {
		p, q := strings.Split(x, ","), strings.Split(y, ",")
		return slices.EqualFunc(p, q, func(x, y string) bool {
			f, err1 := strconv.ParseFloat(x, 64)
			g, err2 := strconv.ParseFloat(y, 64)
			return x == y || err1 == nil && err2 == nil && math.Abs(f-g) <= 1e-9*max(1, math.Abs(f))
		})
	})
}

func answerRows(text string) []string {
	rows := strings.Split(text, ";")
	slices.Sort(rows)
	return rows
}

// wideOrders is a join by hand of orders with all that they reach, to compare with.
const wideOrders = `(SELECT o.* EXCLUDE (status), coalesce(o.status, 'unknown') AS status, c.segment AS customer__segment,
	c.signed_up, h.country AS customer__home__country, h.continent AS customer__home__continent, r.segment AS referrer__segment,
	s.country AS ship__country, s.continent AS ship__continent, b.country AS bill__country, p.category, p.price > 30 AS expensive
	FROM orders o LEFT JOIN customers c ON c.customer_id = o.customer_id LEFT JOIN countries h ON h.code = c.country_code
	LEFT JOIN customers r ON r.customer_id = c.referred_by LEFT JOIN countries s ON s.code = o.ship_country
	LEFT JOIN countries b ON b.code = o.bill_country LEFT JOIN products p ON p.product_id = o.product_id AND p.variant = o.variant)`

// TestNoQueryOfMetricsMultipliesRows compares random groupings and conditions with the same over
// the join by hand: whatever is joined, each order counts once.
func TestNoQueryOfMetricsMultipliesRows(t *testing.T) {
	r := metricsPod(t)
	random := rand.New(rand.NewPCG(1, 2))
	dimensions := []string{
		"status", "customer__segment", "customer__home__country", "customer__home__continent", "referrer__segment", "ship__country",
		"ship__continent", "bill__country", "category", "expensive",
	}
	grains := []string{"day", "week", "month", "quarter", "year"}
	conditions := []string{
		"status = 'paid'", "customer__segment IS NULL", "customer__home__continent <> 'Europe'", "ship__country IN ('Germany', 'Japan')",
		"expensive", "NOT coalesce(expensive, false)", "ordered_at >= TIMESTAMP '2024-07-01'", "referrer__segment = 'retail'",
		"lower(category) LIKE 't%'", "bill__country = ship__country",
	}
	measures := []struct{ metric, value string }{
		{"order_count", "count(*)"},
		{"buyers", "count(DISTINCT customer_id)"},
		{"revenue", "sum(amount) FILTER (WHERE status = 'paid')"},
		{"average_item", "sum(amount) / sum(quantity)"},
	}
	for range 50 {
		var by, hand, where []string
		for _, i := range random.Perm(len(dimensions))[:random.IntN(4)] {
			by, hand = append(by, "'"+dimensions[i]+"'"), append(hand, dimensions[i])
		}
		if random.IntN(2) == 0 {
			g := grains[random.IntN(len(grains))]
			by, hand = append(by, "'ordered_at__"+g+"'"), append(hand, "date_trunc('"+g+"', ordered_at)::DATE")
		}
		for _, i := range random.Perm(len(conditions))[:random.IntN(3)] {
			where = append(where, "("+conditions[i]+")")
		}
		m := measures[random.IntN(len(measures))]
		filter := strings.Join(where, [...]string{" AND ", " OR "}[random.IntN(2)])
		metric := "metric('" + m.metric + "', by := [" + strings.Join(by, ", ") + "], where := '" + strings.ReplaceAll(filter, "'", "''") + "')"
		sql := "SELECT " + strings.Join(append(hand, m.value), ", ") + " FROM " + wideOrders
		if filter == "" {
			filter = "true"
		}
		if m.metric == "revenue" { // its filter decides which groups there are
			filter, sql = "("+filter+") AND status = 'paid'", strings.Replace(sql, " FILTER (WHERE status = 'paid')", "", 1)
		}
		sql += " WHERE " + filter
		if len(hand) > 0 {
			sql += " GROUP BY ALL"
		}
		got, err := r.ask("SELECT * FROM " + metric)
		if err != nil {
			t.Fatalf("%s: %v", metric, err)
		}
		want, err := r.ask(sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if !sameAnswers(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", metric, got, want)
		}
	}
}

// TestKeysThatDoNotHold: a join that would multiply rows is an error, not a larger sum.
func TestKeysThatDoNotHold(t *testing.T) {
	r := start(t, files{"a.csv": "id,b\n1,x\n2,x\n3,y\n", "b.csv": "b,name\nx,one\nx,two\ny,three\n", "spicepod.yaml": `datasets:
- { from: "file:a.csv", name: a }
- { from: "file:b.csv", name: b }
semantic_models:
- { name: a, joins: [{ to: b, from_columns: b }], dimensions: [{ name: id }] }
- { name: b, primary_key: b, dimensions: [{ name: name }] }
metrics:
- { name: n, semantic_model: a, measure: count(*) }
- { name: tested, semantic_model: a, measure: count(*), tests: [{ by: name, rows: [] }] }
`})
	const message = "semantic model b: b is declared as a key, and several rows have the same"
	r.problems(r.LastReport(), `test "test 1" failed: `+message)
	r.refused("FROM metric('n', by := 'name')", message)
	r.want("FROM metric('n')", "3")
}

// TestMetricsOfACaller: row filters, masks and lists of permitted tables hold in metrics.
func TestMetricsOfACaller(t *testing.T) {
	r := start(t, files{
		"sales.csv": "id,owner,shop,amount\n1,ann,1,10\n2,bob,1,20\n3,bob,2,40\n", "shops.csv": "shop,town\n1,Ulm\n2,Bonn\n",
		"spicepod.yaml": `datasets:
- { from: "file:sales.csv", name: sales, row_filter: "owner = ctx('user_id')" }
- { from: "file:shops.csv", name: shops, column_mask: { town: "CASE WHEN ctx('space_id') = 'hr' THEN town END" } }
semantic_models:
- { name: sales, joins: [{ to: shops, from_columns: shop }], dimensions: [{ name: owner }] }
- { name: shops, primary_key: shop, dimensions: [{ name: town }] }
metrics:
- { name: revenue, semantic_model: sales, measure: sum(amount) }
- { name: in_ulm, semantic_model: sales, measure: sum(amount), filter: town = 'Ulm' }
- { name: half, expr: in_ulm / 2 }
- { name: doubled, semantic_model: sales, measure: sum(twice(amount)) }
- { name: quarter, expr: twice(CAST(half AS BIGINT)) / 4 }
functions:
- { name: twice, from: sql, available: "ctx.user_id == 'ann'", signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: 2 * x }
`,
	})
	r.problems(r.LastReport())
	ask := func(who caller.Caller, sql string) string {
		return answerTo(caller.With(t.Context(), who), r.Runtime, engine.Request{SQL: sql})
	}
	for _, c := range []struct {
		who       caller.Caller
		sql, want string
	}{
		{caller.Caller{UserID: "ann"}, "FROM metric('revenue')", "1: 10"},
		{caller.Caller{UserID: "bob"}, "FROM metric('revenue')", "1: 60"},
		{caller.Caller{}, "FROM metric('revenue')", "1: null"},
		{caller.Caller{UserID: "bob"}, "FROM metric('revenue', by := 'town')", "1: null 60"},
		{caller.Caller{UserID: "bob", SpaceID: "hr"}, "FROM metric('revenue', by := 'town')", `2: "Bonn" 40; "Ulm" 20`},
		{caller.Caller{UserID: "bob"}, "FROM metric('revenue', where := 'town = ''Ulm''')", "1: null"},
		{caller.Caller{UserID: "bob", SpaceID: "hr"}, "FROM metric('half')", "1: 10.0"},
		{caller.Caller{UserID: "ann"}, "FROM metric('doubled')", "1: 20"},
		{caller.Caller{UserID: "bob"}, "FROM metric('doubled')", `error: there is no metric "doubled" (line 1, column 6)`},
		{caller.Caller{UserID: "bob"}, "FROM metric('quarter')", `error: there is no metric "quarter" (line 1, column 6)`},
	} {
		if got, _, _ := strings.Cut(ask(c.who, c.sql), "; spiced.metrics lists"); got != c.want {
			t.Errorf("%+v: %s: got %q, want %q", c.who, c.sql, got, c.want)
		}
	}
	only := func(names ...string) engine.Request {
		return engine.Request{Allow: func(r engine.Relation) bool { return slices.Contains(names, r.Name) }}
	}
	for _, c := range []struct {
		req       engine.Request
		sql, want string
	}{
		{only("sales"), "FROM metric('revenue')", ""},
		{only("sales"), "FROM metric('in_ulm')", `there is no metric "in_ulm"`},
		{only("sales"), "FROM metric('half')", `there is no metric "half"`},
		{only("sales"), "FROM metric('revenue', by := 'town')", `has no dimension "town"`},
		{only("sales"), "FROM metric('revenue', where := 'town = ''Ulm''')", `has no dimension "town"`},
		{only("shops"), "FROM metric('revenue')", `there is no metric "revenue"`},
		{only("sales"), "FROM metric('revenue') JOIN shops ON true", `table "shops" is not declared`},
	} {
		c.req.SQL = c.sql
		got := answerTo(t.Context(), r.Runtime, c.req)
		if failed := strings.HasPrefix(got, "error: "); failed != (c.want != "") || !strings.Contains(got, c.want) || strings.Contains(got, "did you mean") {
			t.Errorf("%s: got %q, want %q", c.sql, got, c.want)
		}
	}
}

// TestMetricsFallBack: an edit with a fault leaves the last good version in service, and other
// metrics as they are edited.
func TestMetricsFallBack(t *testing.T) {
	pod := func(model, revenue, count string) string {
		return `datasets: [{ from: "file:a.csv", name: a }]
semantic_models:
- { name: a, dimensions: [` + model + `] }
metrics:
- { name: revenue, semantic_model: a, ` + revenue + ` }
- { name: n, semantic_model: a, ` + count + ` }
- { name: mean, numerator: revenue, denominator: n }
`
	}
	const good = "measure: sum(x), tests: [{ value: 6 }]"
	r := start(t, files{"a.csv": "x,kind\n1,a\n2,b\n3,b\n", "spicepod.yaml": pod("{ name: kind }", good, "measure: count(*)")})
	r.problems(r.LastReport())
	r.want("FROM metric(['revenue', 'mean'], by := 'kind', order_by := 'kind')", "a,1,1.0;b,5,2.5")

	r.problems(r.pod(pod("{ name: kind }", "measure: sum(y)", "measure: 2 * count(*)")), `metric revenue: Referenced column "y" not found`)
	r.want("FROM metric(['revenue', 'mean'])", "6,1.0")

	r.problems(r.pod(pod("{ name: kind }", "measure: sum(x), tests: [{ value: 7 }]", "measure: count(*)")), `metric revenue: test "test 1" failed: want (7), got (6)`)
	r.want("FROM metric('mean')", "2.0")

	r.problems(r.pod(pod("{ name: knd }", good, "measure: count(*)")), `semantic model a: the source has no column "knd"`)
	r.want("FROM metric('mean', by := 'kind', order_by := 'kind')", "a,1.0;b,2.5")

	r.problems(r.pod(pod("{ name: kind }", good, "measure: count(*)")))
	r.problems(r.pod("datasets: [{ from: 'file:a.csv', name: a }]\n"))
	r.refused("FROM metric('revenue')", "metric")
	r.want("SELECT count(*) FROM spiced.metrics", "0")

	// without a last good version, what has a fault and what is made of it is not served
	r.problems(r.pod(pod("{ name: kind }", "measure: sum(CAST(kind AS INT)), tests: [{ value: 7 }]", "measure: count(*)")),
		`test "test 1" failed: Could not convert string 'a' to INT32`, "metric mean: it waits for metric revenue")
	r.want("SELECT string_agg(name) FROM spiced.metrics", "n")
	r.want("FROM metric('n')", "3")
	r.refused("FROM metric('mean')", `metric "mean" has a fault and is not served`)
}

// TestMetricsInStatements: a call is a query wherever one may be.
func TestMetricsInStatements(t *testing.T) {
	r := metricsPod(t)
	r.want("SELECT count(*) FROM metric('order_count', by := ['status']) m JOIN metric('revenue', by := ['status']) USING (status)", "1")
	r.want("SELECT n.order_count FROM metric('order_count') AS n WHERE order_count > (SELECT paid_orders FROM metric('paid_orders'))", "240")
	r.want("WITH m AS (FROM metric(['order_count'], by := 'status')) SELECT sum(order_count) FROM m", "240")
	r.want("SELECT metric.order_count FROM METRIC('ORDER_COUNT')", "240")
	r.want("SELECT status, order_count - lag(order_count, 1, 0) OVER (ORDER BY status) FROM metric('order_count', by := 'status') ORDER BY 1 LIMIT 1",
		"cancelled,32")
	r.want("SELECT s FROM (SELECT 'metric(''x'')' AS s, 1 AS metric)", "metric('x')")
	r.refused("FROM metric(getvariable('m'))", "must be a constant")
	r.refused("SELECT * FROM orders o, LATERAL metric(o.status)", "must be a constant")

	d, err := r.DB().Describe(t.Context(), engine.Request{SQL: "FROM metric('order_count', where := 'status = $s OR status = $s')"})
	if err != nil || len(d.Params) != 1 || d.Params[0].Name != "s" || d.Columns[0].Name != "order_count" {
		t.Errorf("described as %+v, %v", d, err)
	}
	for sql, params := range map[string]engine.Params{
		"FROM metric('paid_orders', where := 'status = $s OR status = $s')": {Named: map[string]any{"s": "paid"}},
		"FROM metric('paid_orders', where := 'status = $1')":                {Positional: []any{"paid"}},
	} {
		got := answerTo(t.Context(), r.Runtime, engine.Request{SQL: sql, Params: params})
		if want := answerTo(t.Context(), r.Runtime, engine.Request{SQL: "FROM metric('paid_orders')"}); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
}

// TestMetricsAsOthersReported has shapes of public bug reports of semantic layers, each over data
// where the reported mistake gives another answer.
func TestMetricsAsOthersReported(t *testing.T) {
	r := start(t, files{
		"orders.csv": "id,customer,amount,flag,at,day\n1,a,10,true,2024-12-29 23:30:00+00,2024-12-29\n" +
			"2,a,30,,2024-12-30 00:30:00+00,2024-12-30\n3,b,60,false,2025-01-05 23:30:00+00,2025-01-05\n4,,100,,2025-01-06 12:00:00+00,2025-01-06\n",
		"payments.csv":  "pid,order_id,method,paid\n1,1,card,10\n2,2,card,10\n3,2,cash,20\n4,3,card,60\n5,4,,100\n",
		"visits.csv":    "customer,flag,n,on_day\na,true,5,2024-12-29\nb,,0,2025-01-05\nc,false,7,2025-02-01\n,,1,2025-01-06\n",
		"customers.csv": "customer,\"group\",\"select\"\na,x,s1\nb,x,\nc,,s2\n",
		"empty.csv":     "customer,n,day\n",
		"spicepod.yaml": `datasets:
- { from: "file:orders.csv", name: orders, columns: [{ name: at, type: timestamptz }] }
- { from: "file:payments.csv", name: payments }
- { from: "file:visits.csv", name: visits }
- { from: "file:customers.csv", name: customers }
- { from: "file:empty.csv", name: empty, columns: [{ name: customer, type: utf8 }, { name: n, type: int64 }, { name: day, type: date }] }
semantic_models:
- name: orders
  primary_key: id
  time: day
  dimensions:
  - { name: flagged, sql: flag }
  - { name: at, sql: '"at"', type: time, grain: second }
  - { name: at_berlin, sql: "\"at\" AT TIME ZONE 'Europe/Berlin'", type: time }
  - { name: day, type: time }
  - { name: week_from_sunday, sql: "CAST(date_trunc('week', day + 1) AS DATE) - 1" }
  joins: [{ to: customers, name: customer, from_columns: customer }]
- { name: payments, dimensions: [{ name: method }], joins: [{ to: orders, name: order, from_columns: order_id }] }
- { name: visits, dimensions: [{ name: visitor_flag, sql: flag }, { name: on_day, type: time }], joins: [{ to: customers, name: customer, from_columns: customer }] }
- { name: customers, primary_key: customer, dimensions: [{ name: "group" }, { name: "select" }, { name: id, sql: customer }] }
- { name: empty, dimensions: [{ name: empty_day, sql: day, type: time }], joins: [{ to: customers, name: customer, from_columns: customer }] }
metrics:
- { name: amount, semantic_model: orders, measure: sum(amount) }
- { name: mean, semantic_model: orders, measure: avg(amount) }
- { name: orders_n, semantic_model: orders, measure: count(*), fill_nulls_with: 0 }
- { name: large, semantic_model: orders, measure: count(*), filter: amount > 50 }
- { name: paid, semantic_model: payments, measure: sum(paid) }
- { name: visits, semantic_model: visits, measure: sum(n), fill_nulls_with: 0 }
- { name: nothing, semantic_model: empty, measure: sum(n) }
- { name: nothing_n, semantic_model: empty, measure: count(*), fill_nulls_with: 0 }
- { name: per_visit, numerator: amount, denominator: visits }
- { name: total, expr: orders_n + visits }
- { name: doubled, expr: total + total }
- { name: large_share, numerator: large, denominator: orders_n }
`,
	})
	r.problems(r.LastReport())
	for _, c := range []struct{ report, sql, want string }{
		{"metricflow#155: several tables without a dimension", "FROM metric(['amount', 'visits', 'nothing'])", "200,13,NULL"},
		{
			"metricflow#363: a NULL dimension is one row", "FROM metric(['amount', 'visits'], by := 'customer__id', order_by := 'customer__id')",
			"a,40,5;b,60,0;c,NULL,7;NULL,100,1",
		},
		{
			"metricflow#1098: fills come before what is derived",
			"FROM metric(['total', 'doubled'], by := 'customer__id', order_by := 'customer__id')",
			"a,7,14;b,1,2;c,7,14;NULL,2,4",
		},
		{
			"dbt_metrics#61, dj#2147: a zero denominator", "FROM metric('per_visit', by := 'customer__id', order_by := 'customer__id')",
			"a,8.0;b,NULL;c,NULL;NULL,100.0",
		},
		{"dbt_metrics#215: where holds for what is derived", "FROM metric('doubled', where := 'customer__group = ''x''')", "16"},
		{
			"lightdash#15943: an average beside a finer table", "FROM metric(['mean', 'paid'], by := 'customer__id', order_by := 'customer__id')",
			"a,20.0,40;b,60.0,60;NULL,100.0,100",
		},
		{
			"lightdash#16829: a filter of a joined table without a dimension", "FROM metric('mean', where := 'customer__group = ''x''')",
			"33.333333333333336",
		},
		{
			"looker: a measure of the one side by a dimension of the many side is no answer", "FROM metric('paid', by := 'method', order_by := 'method')",
			"card,80;cash,20;NULL,100",
		},
		{
			"growthbook#6331: each side of a ratio has its own rows", "FROM metric('large_share', by := 'customer__id', order_by := 'customer__id')",
			"a,NULL;b,1.0;NULL,1.0",
		},
		{
			"sidemantic#75: keys that are no texts, and false is not NULL", "FROM metric('orders_n', by := 'flagged', order_by := 'flagged')",
			"false,1;true,1;NULL,2",
		},
		{
			"cube#10085: a week over the end of a year", "FROM metric('orders_n', by := 'day__week', order_by := 'day__week')",
			"2024-12-23,1;2024-12-30,2;2025-01-06,1",
		},
		{
			"cube#177: weeks from Sunday", "FROM metric('orders_n', by := 'week_from_sunday', order_by := 'week_from_sunday')",
			"2024-12-29,2;2025-01-05,2",
		},
		{
			"cube#689: the day in a time zone", "FROM metric('orders_n', by := 'at_berlin__day', order_by := 'at_berlin__day')",
			"2024-12-30,2;2025-01-06,2",
		},
		{
			"cube#443: the day of an instant is that of the engine's zone", "FROM metric('orders_n', by := 'at__day', order_by := 'at__day')",
			"2024-12-29,1;2024-12-30,1;2025-01-05,1;2025-01-06,1",
		},
		{"cube#10159: a filter in a time zone", "FROM metric('orders_n', where := 'at_berlin__day = DATE ''2024-12-30''')", "2"},
		{"no rows at all", "FROM metric(['nothing', 'nothing_n'])", "NULL,0"},
		{
			"no rows of one fact", "FROM metric(['nothing', 'nothing_n', 'amount'], by := 'metric_time__year', order_by := 'metric_time__year')",
			"2024-01-01,NULL,0,40;2025-01-01,NULL,0,160",
		},
		{
			"dimensions with names that are keywords",
			`FROM metric('amount', by := ['group', 'select'], where := '"group" IS NOT NULL', order_by := 'select')`,
			"x,s1,40;x,NULL,60",
		},
		{
			"a day filter on an instant of a grain",
			"FROM metric('amount', by := 'day__month', where := 'day >= DATE ''2024-12-30'' AND day < DATE ''2025-01-06''', order_by := '-day__month')",
			"2025-01-01,60;2024-12-01,30",
		},
	} {
		if got, err := r.ask(c.sql); err != nil || got != c.want {
			t.Errorf("%s: %s: got %s, %v, want %s", c.report, c.sql, got, err, c.want)
		}
	}
	r.refused("FROM metric('amount', by := 'method')", `has no dimension "method"`)
	r.refused("FROM metric(['amount', 'visits'], by := 'day__month')", `semantic model visits has no dimension "day"`)
	r.refused("FROM metric([], by := ['customer__id'])", "no metric is named") // metricflow#1824
}

// callMetrics calls a tool of metrics as a caller whose tools may read some tables.
func callMetrics(t *testing.T, r *rig, tool, args string, datasets []string) (string, error) {
	t.Helper()
	all, err := builtin.Load(r.ToolEnv(), []string{"data"})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(t tools.Tool) bool { return t.Definition().Name == tool })
	if i < 0 {
		t.Fatalf("there is no tool %s", tool)
	}
	in := tools.Input{Raw: json.RawMessage(args), Scope: tools.Scope{Datasets: datasets}}
	if err := json.Unmarshal(in.Raw, &in.Arguments); err != nil {
		t.Fatal(err)
	}
	out, err := all[i].Call(t.Context(), in)
	return string(out.Value), err
}

func TestToolsOfMetrics(t *testing.T) {
	r := metricsPod(t)
	var list []struct {
		Metric     string
		Certified  bool
		Synonyms   []string
		Dimensions []string
	}
	names := func(datasets ...string) (names []string) {
		text, err := callMetrics(t, r, "list_metrics", "{}", datasets)
		if err == nil {
			err = json.Unmarshal([]byte(text), &list)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			names = append(names, m.Metric)
		}
		return names
	}
	if all := names(); len(all) != 14 || !list[0].Certified || list[0].Synonyms[0] != "sales" ||
		!slices.Contains(list[0].Dimensions, "home__continent") {
		t.Errorf("%d metrics: %+v", len(all), list[0])
	}
	if got := names("orders"); !slices.Equal(got, []string{"revenue", "order_count", "paid_orders", "buyers", "average_item", "average_order"}) ||
		!slices.Equal(list[0].Dimensions, []string{"status", "ordered_at", "size", "metric_time"}) {
		t.Errorf("of one table: %v by %v", got, list[0].Dimensions)
	}
	for _, c := range []struct {
		tool, args string
		datasets   []string
		want       string
	}{
		{"list_metrics", `{"metrics": ["REVENUE"]}`, nil, `{"name":"ordered_at","type":"TIMESTAMP","grains":["second","minute","hour","day","week","month","quarter","year"],"synonyms":["order date","date of purchase"]}`},
		{"list_metrics", `{"metrics": ["revenu"]}`, nil, `there is no metric revenu; the metrics are revenue, `},
		{"list_metrics", `{"metrics": ["refund"]}`, []string{"orders"}, "there is no metric refund"},
		{
			"query_metrics", `{"metrics": ["order_count"], "by": ["status"], "where": "status <> 'paid'", "order_by": ["-order_count"], "limit": 1}`, nil,
			`[{"status":"unknown","order_count":38}]`,
		},
		{"query_metrics", `{"metrics": ["order_count"], "by": ["metric_time"], "grain": "year"}`, []string{"orders"}, `{"metric_time":"2024-01-01","order_count":`},
		{"query_metrics", `{"metrics": ["order_count"], "by": ["customer__segment"]}`, []string{"orders"}, `has no dimension "customer__segment"`},
		{"query_metrics", `{"metrics": ["refund"]}`, []string{"orders"}, `there is no metric "refund"`},
		{"query_metrics", `{"metrics": ["order_count"], "where": "(SELECT count(*) FROM visits) > 0"}`, nil, "where: it has a subquery"},
		{"query_metrics", `{"metrics": ["order_count'); DROP TABLE orders; --"]}`, nil, "there is no metric"},
		{"query_metrics", `{"metrics": ["order_count"], "limit": 0}`, nil, `[]`},
	} {
		got, err := callMetrics(t, r, c.tool, c.args, c.datasets)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s: got %s, want %s", c.tool, c.args, got, c.want)
		}
	}
	g := r.Current()
	for _, name := range builtin.Metrics {
		if g.Tools.Get(name) == nil {
			t.Errorf("the catalog has no %s", name)
		}
	}
	r.problems(r.pod("datasets: [{ from: 'file:orders.csv', name: orders }]\n"))
	for _, name := range builtin.Metrics {
		if r.Current().Tools.Get(name) != nil {
			t.Errorf("without metrics, the catalog has %s", name)
		}
	}
}

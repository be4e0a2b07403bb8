package runtime

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
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

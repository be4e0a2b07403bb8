package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

// newcomerPod is the Spicepod of somebody's first hour, without a mistake.
const newcomerPod = `version: v1
kind: Spicepod
name: shop
runtime:
  functions:
    enabled: true
  query:
    timeout: 20s
datasets:
  - name: orders
    from: file:orders.csv
    description: Orders of the shop.
    acceleration:
      enabled: true
      primary_key: id
      refresh_check_interval: 10m
    columns:
      - name: amount
        description: In euros.
  - name: customers
    from: file:customers.csv
views:
  - name: paid
    sql: SELECT * FROM orders WHERE status = 'paid'
functions:
  - name: vat
    from: sql
    description: The VAT in a gross amount.
    volatility: immutable
    signature:
      args:
        - name: gross
          type: float64
          description: Gross amount in euros.
      returns: float64
    body: gross - gross / 1.19
    tests:
      - args: { gross: 119 }
        returns: 19
        tolerance: 0.001
  - name: spent
    from: sql
    description: What a customer has paid.
    signature:
      args: [{ name: customer, type: int64 }]
      returns: float64
    body: (SELECT sum(amount) FROM paid WHERE customer_id = customer)
  - name: orders_of
    from: sql
    kind: table
    description: The orders of a customer.
    signature:
      args: [{ name: customer, type: int64 }]
      returns: [{ name: id, type: int64 }, { name: amount, type: float64 }]
    body: SELECT id, amount FROM orders JOIN args ON customer_id = args.customer
search_tests:
  - query: VAT of an amount
    expect: vat
`

// mistakes are edits of newcomerPod, each with one mistake. An edit back is the remedy.
var mistakes = []struct{ name, right, wrong string }{
	{"tab", "  functions:\n    enabled: true", "  functions:\n\tenabled: true"},
	{"duplicate key", "name: shop\n", "name: shop\nname: store\n"},
	{"misspelt top key", "datasets:\n", "dataset:\n"},
	{"misspelt kind", "kind: Spicepod", "kind: SpicePods"},
	{"no version", "version: v1\n", ""},
	{"wrong version", "version: v1", "version: v9"},
	{"misspelt key in function", "    description: The VAT in", "    descripton: The VAT in"},
	{"misspelt type", "          type: float64", "          type: flot64"},
	{"type of another system", "          type: float64", "          type: number"},
	{"unknown volatility", "volatility: immutable", "volatility: pure"},
	{"from missing colon", "from: file:orders.csv", "from: orders.csv"},
	{"unknown connector", "from: file:orders.csv", "from: postgress:orders"},
	{"unserved connector", "from: file:orders.csv", "from: oracle:orders"},
	{"missing file", "file:orders.csv", "file:order.csv"},
	{"file outside the roots", "file:orders.csv", "file:/etc/passwd"},
	{"unset env", "file:customers.csv", "file:${env:NC_FOLDER}/customers.csv"},
	{"bad reference", "file:customers.csv", "file:${evn:NC_FOLDER}/customers.csv"},
	{"bad duration", "refresh_check_interval: 10m", "refresh_check_interval: 10 minutes"},
	{"unknown primary key", "primary_key: id", "primary_key: ident"},
	{"unknown described column", "      - name: amount\n        description: In euros.", "      - name: amout\n        description: In euros."},
	{"body misspells argument", "gross - gross / 1.19", "gros - gross / 1.19"},
	{"body misspells column", "sum(amount) FROM paid", "sum(amunt) FROM paid"},
	{"body misspells table", "FROM paid WHERE", "FROM payd WHERE"},
	{"body misspells function", "sum(amount)", "summ(amount)"},
	{"body is no expression", "body: gross - gross / 1.19", "body: gross -"},
	{"body is a statement", "body: gross - gross / 1.19", "body: SELECT gross - gross / 1.19;"},
	{"unclosed bracket", "body: (SELECT sum(amount) FROM paid WHERE customer_id = customer)", "body: (SELECT sum(amount) FROM paid WHERE customer_id = customer"},
	{"body writes", "body: gross - gross / 1.19", "body: (DELETE FROM orders)"},
	{"table body lacks a column", "body: SELECT id, amount FROM", "body: SELECT id FROM"},
	{"table body wrong type", "returns: [{ name: id, type: int64 }, { name: amount", "returns: [{ name: id, type: date }, { name: amount"},
	{"returns does not fit", "      returns: float64\n    body: gross", "      returns: date\n    body: gross"},
	{"args as mapping", "        - name: gross\n          type: float64\n          description: Gross amount in euros.", "          gross: float64"},
	{"arg without type", "          type: float64\n          description: Gross", "          description: Gross"},
	{"two functions of one name", "  - name: spent", "  - name: vat"},
	{"name with blanks", "  - name: spent", "  - name: spent money"},
	{"name of a built-in", "  - name: spent", "  - name: sum"},
	{"test fails", "returns: 19\n", "returns: 20\n"},
	{"test misses argument", "args: { gross: 119 }", "args: { grss: 119 }"},
	{"view misspells column", "status = 'paid'", "state = 'paid'"},
	{"search test of unknown tool", "expect: vat", "expect: vatt"},
	{"list for a mapping", "  query:\n    timeout: 20s", "  query:\n    - timeout: 20s"},
	{"text for a flag", "      enabled: true\n      primary_key", "      enabled: sometimes\n      primary_key"},
	{"unquoted colon", "description: Orders of the shop.", "description: Orders: of the shop."},
	{
		"unquoted comma", "args: [{ name: customer, type: int64 }]\n      returns: float64",
		"args: [{ name: customer, type: int64, description: The customer, by number }]\n      returns: float64",
	},
	{"bad indentation", "    from: file:customers.csv", "   from: file:customers.csv"},
	{"functions off", "    enabled: true\n  query", "    enabled: false\n  query"},
	{"recursive functions", "body: gross - gross / 1.19", "body: vat(gross)"},
	{"unknown key of runtime", "  query:\n    timeout: 20s", "  query:\n    time_out: 20s"},
	{"size without number", "    timeout: 20s", "    timeout: 20s\n    memory_limit: much"},
}

// TestNewcomer makes each mistake of the first hour and validates the Spicepod. The
// message must name the place, the cause and a remedy, and with the remedy the Spicepod
// must be good. The golden file has all messages.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	var all bytes.Buffer
	for _, m := range mistakes {
		if strings.Count(newcomerPod, m.right) == 0 {
			t.Fatalf("%s: the Spicepod does not have %q", m.name, m.right)
		}
		text := strings.Replace(newcomerPod, m.right, m.wrong, 1)
		status, shown := validated(t, text)
		fmt.Fprintf(&all, "# %s\n%s\n", m.name, shown)
		if status != 1 {
			t.Errorf("%s: status %d: %s", m.name, status, shown)
		}
		if !nearPlace(shown, changedLine(text)) && m.name != "functions off" {
			t.Errorf("%s: line %d is not named:\n%s", m.name, changedLine(text), shown)
		}
		first, _, _ := strings.Cut(shown, "\nspicepod.yaml:")
		if !strings.Contains(first, "hint: ") && !strings.Contains(first, "did you mean ") && !strings.Contains(first, " takes ") &&
			!strings.Contains(first, "want ") && !strings.Contains(first, "Set `") {
			t.Errorf("%s: no remedy:\n%s", m.name, first)
		}
	}
	if status, shown := validated(t, newcomerPod); status != 0 {
		t.Errorf("after the remedies: %s", shown)
	}
	golden.Equal(t, filepath.Join("testdata", "newcomer.txt"), all.Bytes())
}

// validated runs spiced validate on a Spicepod with the data of the shop.
func validated(t *testing.T, text string) (status int, shown string) {
	t.Helper()
	dir := folder(t, "spicepod.yaml", text,
		"orders.csv", "id,customer_id,amount,status\n1,1,10.5,paid\n2,1,4.0,open\n3,2,7.25,paid\n",
		"customers.csv", "id,name\n1,Ann\n2,Bob\n")
	var out, errs bytes.Buffer
	status = run(t.Context(), []string{"validate", dir}, streams{strings.NewReader(""), &out, &errs})
	return status, strings.ReplaceAll(out.String()+errs.String(), dir, "DIR")
}

// changedLine is the first line of a text that newcomerPod does not have there.
func changedLine(text string) int {
	before, now := strings.Split(newcomerPod, "\n"), strings.Split(text, "\n")
	for i := range now {
		if i >= len(before) || before[i] != now[i] {
			return i + 1
		}
	}
	return len(now)
}

// nearPlace reports whether messages name the line or one next to it.
func nearPlace(shown string, line int) bool {
	for at := line - 1; at <= line+1; at++ {
		if strings.Contains(shown, fmt.Sprintf("spicepod.yaml:%d:", at)) {
			return true
		}
	}
	return false
}

// TestNewcomerInTwoRounds makes many mistakes at once, in components that do not depend on
// each other, and repairs what is reported: two rounds must do.
func TestNewcomerInTwoRounds(t *testing.T) {
	text := newcomerPod
	together := map[string]bool{
		"misspelt type": true, "bad duration": true, "unknown described column": true, "name with blanks": true,
		"unset env": true, "search test of unknown tool": true, "unknown volatility": true,
	}
	for _, m := range mistakes {
		if together[m.name] {
			text = strings.Replace(text, m.right, m.wrong, 1)
		}
	}
	for round := 1; ; round++ {
		status, shown := validated(t, text)
		if status == 0 {
			return
		}
		if round > 2 {
			t.Fatalf("round %d:\n%s", round, shown)
		}
		for _, m := range mistakes {
			if at := strings.Index(text, m.wrong); together[m.name] && at >= 0 && nearPlace(shown, 1+strings.Count(text[:at], "\n")) {
				text = strings.Replace(text, m.wrong, m.right, 1)
			}
		}
	}
}

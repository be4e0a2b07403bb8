package sqltree

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var kindNames = map[Kind]string{
	Ident: "id", QuotedIdent: "qid", String: "str", Number: "num", Param: "param", NamedParam: "named", Symbol: "",
}

func tokens(sql string) string {
	var out []string
	for _, t := range Scan(sql) {
		out = append(out, strings.TrimPrefix(kindNames[t.Kind]+":", ":")+t.Text(sql))
	}
	return strings.Join(out, " ")
}

func TestScan(t *testing.T) {
	for sql, want := range map[string]string{
		"":                             "",
		"SELECT a, b":                  "id:SELECT id:a , id:b",
		"'it''s' 'x'":                  "str:'it''s' str:'x'",
		`e'\'' E'\\' 'a\'`:             `str:e'\'' str:E'\\' str:'a\'`,
		"x'00' B'01' N'x'":             "str:x'00' str:B'01' id:N str:'x'",
		`"a""b"."c"`:                   `qid:"a""b" . qid:"c"`,
		"$$a$$ $t$ $$ $t$":             "str:$$a$$ str:$t$ $$ $t$",
		"$1 $12a $name ? ?2 $":         "param:$1 param:$12 id:a param:$name param:? param:?2 $",
		"1 1.5 .5 1. 1e3 1e-3 1_000":   "num:1 num:1.5 num:.5 num:1. num:1e3 num:1e-3 num:1_000",
		"1from 1e 1e+ 1_a 0x1F 1.a":    "num:1 id:from num:1 id:e num:1 id:e + num:1 id:_a num:0 id:x1F num:1. id:a",
		"1..2 a.1":                     "num:1 . num:.2 id:a num:.1",
		"a -- c\nb":                    "id:a id:b",
		"a -- c\rb":                    "id:a id:b",
		"a /* /* x */ */ b":            "id:a id:b",
		"a /* /* x */ b":               "id:a",
		"a+-- x\nb":                    "id:a + id:b",
		"e'a'\n'\\'' 'x\\'":            "str:e'a' str:'\\'' str:'x\\'",
		"e'a' -- c\r 'b\\'' 'c'":       "str:e'a' str:'b\\'' str:'c'",
		"e'a' 'b\\' e'a', \n 'c\\'":    "str:e'a' str:'b\\' str:e'a' , str:'c\\'",
		"$$a$$\n'b\\' x'00'\n'c\\'":    "str:$$a$$ str:'b\\' str:x'00' str:'c\\'",
		"'open":                        "str:'open",
		"$a$open":                      "str:$a$open",
		"a::INT x := 1 y => 2 >= <>":   "id:a :: id:INT id:x := num:1 id:y => num:2 > = < >",
		":a + :b":                      "named::a + named::b",
		"f(:a, x[:b], y[1:c])":         "id:f ( named::a , id:x [ : id:b ] , id:y [ num:1 : id:c ] )",
		"SELECT [:a, x[:b]], f()[:c]":  "id:SELECT [ named::a , id:x [ : id:b ] ] , id:f ( ) [ : id:c ]",
		"s[:len(s)-:n], [1][:m][ :k]":  "id:s [ : id:len ( id:s ) - named::n ] , [ num:1 ] [ : id:m ] [ : id:k ]",
		"{'k':v, k2: :p, 'a':(x[1])}":  "{ str:'k' : id:v , id:k2 : named::p , str:'a' : ( id:x [ num:1 ] ) }",
		"MAP {k :v}":                   "id:MAP { id:k : id:v }",
		"a:b, a :b":                    "id:a : id:b , id:a named::b",
		"[a:b:c]":                      "[ id:a : id:b : id:c ]",
		"é😀 a$b _x":                    "id:é😀 id:a$b id:_x",
		"a\u00a0b\u2003c\ufeffd\u3000": "id:a id:b id:c id:d",
		"'\u00a0' \"\u00a0\"":          "str:'\u00a0' qid:\"\u00a0\"",
		"a\vb":                         "id:a \v id:b",
		"a->>'b' || c":                 "id:a - > > str:'b' | | id:c",
	} {
		if got := tokens(sql); got != want {
			t.Errorf("%q\n%s", sql, cmp.Diff(want, got))
		}
	}
}

func TestShifts(t *testing.T) {
	for sql, want := range map[string]int{
		"SELECT '\u00a0', \"\u2003\"":                  -1,
		"SELECT e'\\n', 'a''b', '$a$', '\u00a0'":       -1,
		"SELECT $1, $name, $a$ \u00a0 ' $a$, '\u00a0'": -1,
		"SELECT e'\\'', \u00a0 a":                      -1, // between tokens
		"SELECT '\u00a0', e'\\''":                      -1, // before
		"SELECT e'\\'\u00a0'":                          1,
		"SELECT e'\\'', '\u3000'":                      3,
		"SELECT a$b$, \"\ufeff\"":                      3,
		"SELECT $\u00e9$ \u00a0 $\u00e9$":              1,
		"SELECT $\u00e9, '\u00a0'":                     3,
	} {
		if got := Shifts(sql, Scan(sql)); got != want {
			t.Errorf("%q: %d, want %d", sql, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	sql := `a "B ""q""" "`
	toks := Scan(sql)
	for i, want := range []string{"a", `B "q"`, `"`} {
		if got := toks[i].Name(sql); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for in, want := range map[string]string{"AbC": "abc", "Ä": "Ä", "\u212a": "\u212a", "": "", "x": "x"} {
		if got := Fold(in); got != want {
			t.Errorf("Fold(%q) = %q", in, got)
		}
	}
}

// checkScan holds what is true of every text.
func checkScan(t *testing.T, sql string) {
	t.Helper()
	toks := Scan(sql)
	last := 0
	for _, tok := range toks {
		if tok.Start < last || tok.End <= tok.Start || tok.End > len(sql) {
			t.Fatalf("%q: token %+v after %d", sql, tok, last)
		}
		if gap := sql[last:tok.Start]; len(Scan(gap)) != 0 {
			t.Fatalf("%q: the gap %q holds a token", sql, gap)
		}
		last = tok.End
	}
	plain := Plain(sql, toks)
	if len(plain) != len(sql) {
		t.Fatalf("%q: Plain has another length", sql)
	}
	again := Scan(plain)
	if d := cmp.Diff(toks, again); d != "" {
		t.Fatalf("%q: Plain has other tokens: %s", sql, d)
	}
	if strings.ContainsAny(plain[last:], "-/*") {
		t.Fatalf("%q: Plain keeps a comment: %q", sql, plain)
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{
		"SELECT 'a' -- x\n, $$b$$ /* c */", "e'\\'", "x[:a]", "\u00a01", "a--\rb", "$a$b$a$", "1e", "'", "\"", "/*", "\xff'\xa0",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) { checkScan(t, sql) })
}

func TestJoined(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"", ""},
		{" ;", ""},
		{"SELECT a,b FROM t", "SELECT a,b FROM t"},
		{"\n-- first\nSELECT  a\r\n\tFROM t -- last\n;\n", "SELECT a FROM t"},
		{"SELECT a/* - */FROM\u00a0t ;", "SELECT a FROM t"},
		{"SELECT 1; ;", "SELECT 1"},
		{"SELECT 1; SELECT 2", "SELECT 1; SELECT 2"},
		{"SELECT ';'", "SELECT ';'"},
		{"SELECT 'a\n\n  b' , \"c\n d\", $$\ne  f$$", "SELECT 'a\n\n  b' , \"c\n d\", $$\ne  f$$"},
		{"SELECT 'a'  'b'", "SELECT 'a' 'b'"}, // a fault
		{"SELECT 'a'\n\n'b'", "SELECT 'a'\n'b'"},
		{"SELECT e'a' -- more\r  'b'", "SELECT e'a'\n'b'"},
		{"SELECT 'a'\ne'b'", "SELECT 'a' e'b'"},
		{"SELECT 'a'\n\"b\"", "SELECT 'a' \"b\""},
		{"SELECT 1 -\n-1", "SELECT 1 - -1"},
	} {
		if got := Joined(c.sql); got != c.want {
			t.Errorf("%q: got %q, want %q", c.sql, got, c.want)
		}
	}
}

func TestScanOfRandomText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"'", "\"", "--", "\n", "\r", "/*", "*/", "$", "$a$", "a", "1", ".", "e", ":", "::", ":=", "=>", "(", ")", "[", "]", "{", "}", " ", "\u00a0",
		"é", "\xc2", "?", "\\", "_", "x'",
	}
	for range 20000 {
		var b strings.Builder
		for range rnd.IntN(20) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		checkScan(t, b.String())
	}
}

func TestApplyMapsOffsets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		text := strings.Repeat("0123456789", 4)[:1+rnd.IntN(40)]
		var edits []Edit
		for at := rnd.IntN(5); at <= len(text); at += 1 + rnd.IntN(8) {
			end := min(len(text), at+rnd.IntN(4))
			edits = append(edits, Edit{Span{at, end}, strings.Repeat("x", rnd.IntN(5))})
			at = end
		}
		out, origin := Apply(text, edits)
		last := 0
		for i := range len(out) + 1 {
			at := origin(i)
			if at < last || at > len(text) {
				t.Fatalf("%q %v: %d maps to %d after %d", text, edits, i, at, last)
			}
			last = at
			if i < len(out) && out[i] != 'x' && out[i] != text[at] {
				t.Fatalf("%q %v → %q: %d maps to %d", text, edits, out, i, at)
			}
		}
		if origin(len(out)) != len(text) && (len(edits) == 0 || edits[len(edits)-1].End < len(text)) {
			t.Fatalf("the end maps to %d of %d", origin(len(out)), len(text))
		}
	}
}

func TestTermEnd(t *testing.T) {
	for sql, want := range map[string]string{
		"a.b.c + 1":             "a.b.c",
		"f(t.y, (2))[1] + 1":    "f(t.y, (2))[1]",
		"(SELECT 1) * 2":        "(SELECT 1)",
		"[1, 2]":                "[1, 2]",
		"x::INTEGER":            "x",
		"DATE '2024-02-29' + 1": "DATE '2024-02-29'",
		"'a text' x":            "'a text'",
		"2.5":                   "2.5",
		"$1 + 2":                "$1",
		"f(x":                   "",
		"- 1":                   "",
		"CASE WHEN x":           "",
		"x.":                    "x",
	} {
		tokens := Scan(sql)
		got := ""
		if i := TermEnd(sql, tokens, 0); i > 0 {
			got = sql[:tokens[i-1].End]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", sql, got, want)
		}
	}
}

func TestTermStart(t *testing.T) {
	for sql, want := range map[string]string{
		"WHERE a.b.c":                     "a.b.c",
		"WHERE NOT (a)":                   "(a)",
		"SELECT x + f(t.y, (2))":          "f(t.y, (2))",
		"1 = s.f(x)::DECIMAL(9, 2)":       "s.f(x)::DECIMAL(9, 2)",
		"AND \"q\"::pg_catalog.text::x":   "\"q\"::pg_catalog.text::x",
		"= $1":                            "$1",
		"x -":                             "",
		"x)":                              "",
		"":                                "",
		"count(*) FILTER (WHERE x)":       "",
		"OR 'a text'::VARCHAR":            "'a text'::VARCHAR",
		"a BETWEEN 1 AND (SELECT max(b))": "(SELECT max(b))",
		"x - DATE '2024-02-29'":           "DATE '2024-02-29'",
		"CASE WHEN x THEN 'a text'":       "'a text'",
		"SELECT":                          "",
		"CASE WHEN x THEN y END":          "",
	} {
		tokens := Scan(sql)
		got := ""
		if i := TermStart(sql, tokens, len(tokens)-1); i >= 0 {
			got = sql[tokens[i].Start:]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", sql, got, want)
		}
	}
}

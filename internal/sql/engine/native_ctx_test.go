package engine

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

type userKey struct{}

// openCtx opens a database whose ctx('user_id') is the user of the context.
func openCtx(t *testing.T, asked *atomic.Int64) *DB {
	t.Helper()
	db := open(t)
	db.Handle(Ctx, func(ctx context.Context, name string) (string, error) {
		asked.Add(1)
		user, ok := ctx.Value(userKey{}).(string)
		if !ok || name != "user_id" {
			return "null", nil
		}
		text, err := json.Marshal(user)
		return string(text), err
	})
	publish(t, db, NewCatalog(Contents{Generation: 1, Relations: []Relation{{"public", "mine"}}}),
		"CREATE TABLE spice.core.rows AS SELECT i AS id, ['ann', 'bob', 'o''x\"y'][1 + i % 3] AS owner FROM range(30000) r(i)",
		"CREATE VIEW spice.public.mine AS SELECT * FROM spice.core.rows WHERE owner = ctx('user_id')")
	return db
}

func TestCtxIsOfTheStatementsCaller(t *testing.T) {
	var asked atomic.Int64
	db := openCtx(t, &asked)
	const sql = "SELECT ctx('user_id') || ' ' || count(*) || ' ' || min(owner) || coalesce(ctx('agent'), '') FROM mine"
	for _, user := range []string{"ann", "bob", `o'x"y`, "ann"} {
		asked.Store(0)
		got, err := texts(context.WithValue(t.Context(), userKey{}, user), db, sql)
		if want := user + " 10000 " + user; err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		if n := asked.Load(); n != 3 { // in the view, in the statement, for the agent
			t.Errorf("asked %d times for 10,000 rows", n)
		}
	}
	if got, err := texts(t.Context(), db, "SELECT count(*)::VARCHAR FROM mine"); got != "0" || err != nil {
		t.Errorf("no caller has %s rows, %v", got, err)
	}
	if got, err := texts(t.Context(), db, "SELECT ctx('user_id')"); got != "NULL" || err != nil {
		t.Errorf("no caller is %s, %v", got, err)
	}
}

// Where no statement runs, there is no caller, and other handlers refuse.
func TestCtxOnAStage(t *testing.T) {
	var asked atomic.Int64
	db := openCtx(t, &asked)
	stage, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	rows := 0
	err = stage.Query("SELECT ctx('user_id') IS NULL, count(*) FROM spice.public.mine", func(c *Chunk) error {
		rows += c.Len()
		if !Value[bool](c.Column(0), 0) || Value[int64](c.Column(1), 0) != 0 {
			t.Error("somebody is known")
		}
		return nil
	})
	if err != nil || rows != 1 || asked.Load() != 0 {
		t.Errorf("%d rows, asked %d times, %v", rows, asked.Load(), err)
	}
	if err := stage.Exec("SELECT " + Native + "('upper', 'a')"); err == nil || !strings.Contains(err.Error(), "only be called by a statement") {
		t.Errorf("another handler: %v", err)
	}
}

func TestCtxTakesKnownNamesOnly(t *testing.T) {
	var asked atomic.Int64
	db := openCtx(t, &asked)
	for sql, want := range map[string]string{
		"SELECT ctx('user')":                            `ctx has no name "user"`,
		"SELECT ctx('usre_id')":                         `did you mean "user_id"?`,
		"SELECT ctx(owner) FROM mine":                   "as a text literal",
		"SELECT ctx($1)":                                "as a text literal",
		"SELECT ctx()":                                  "as a text literal",
		"SELECT ctx('user_id', 'x')":                    "as a text literal",
		"SELECT (SELECT ctx(x) FROM (SELECT 'a' AS x))": "as a text literal",
	} {
		_, err := texts(t.Context(), db, sql)
		if e := asError(t, err); e.Code != errcode.Argument || !strings.Contains(e.Error(), want) || e.Offset < 7 {
			t.Errorf("%s: %s %v at %d", sql, e.Code, e, e.Offset)
		}
	}
}

func TestTraits(t *testing.T) {
	db := open(t)
	r := func(name string) Relation { return Relation{Public, name} }
	tools := &Function{Name: "tool", Random: true, Traits: Traits{Volatile: true, Caller: true}}
	hidden := &Function{Name: "hidden", Traits: Traits{Protected: true}}
	random := &Function{Name: "dice", Random: true}
	rows := &Function{Name: "rows_of", Table: true, Args: []FunctionArg{{Name: "t", Table: true}}}
	c := NewCatalog(Contents{
		Generation: 1, Relations: []Relation{r("open"), r("secret"), {System, "datasets"}}, Functions: []*Function{tools, hidden, random, rows},
		Traits: map[Relation]Traits{r("secret"): {Protected: true}},
	})
	var (
		none      = Traits{}
		volatile  = Traits{Volatile: true}
		protected = Traits{Protected: true, Caller: true}
		caller    = Traits{Volatile: true, Caller: true}
	)
	for sql, want := range map[string]Traits{
		"SELECT abs(x), lower(y) FROM open":                 none,
		"SELECT random() FROM open":                         volatile,
		"SELECT now()":                                      volatile,
		"SELECT current_date":                               volatile,
		"SELECT \"Current_Timestamp\"":                      volatile,
		"SELECT age(x) FROM open":                           volatile,
		"SELECT x.age() FROM open":                          volatile,
		"SELECT AGE(x, y) FROM open":                        none,
		"SELECT ago(INTERVAL 1 DAY)":                        volatile,
		"FROM open USING SAMPLE 3":                          volatile,
		"FROM spiced.datasets":                              volatile,
		"SELECT dice()":                                     volatile,
		"SELECT ctx('user_id')":                             caller,
		"SELECT \"CTX\"('user_id')":                         caller,
		"SELECT tool()":                                     caller,
		"SELECT 1 FROM secret":                              protected,
		"SELECT hidden()":                                   protected,
		"FROM open WHERE EXISTS (FROM Spice.PUBLIC.SECRET)": protected,
		"FROM rows_of(secret)":                              protected,
		"FROM rows_of('spice.public.secret')":               protected,
		"FROM rows_of(open)":                                none,
		"WITH secret AS (SELECT 1) FROM rows_of(secret)":    none,
	} {
		st, err := db.Parse(t.Context(), sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if got := db.traits(sql, st, c); got != want {
			t.Errorf("%s: got %+v, want %+v", sql, got, want)
		}
	}
	for text, want := range map[string]Traits{
		"a AND ctx ('user_id') = (SELECT max(x) FROM open)": caller,
		"abs(hidden(1))":       protected,
		`x."DICE"()`:           volatile,
		"x - \"current_date\"": volatile,
		"age(x)":               volatile,
		"lower(ctx) || random": none, // columns
	} {
		if got := db.TextTraits(text, c.Function); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

// TestErrorsOfProtectedRowsShowNoValues fails statements on a value.
func TestErrorsOfProtectedRowsShowNoValues(t *testing.T) {
	db := open(t)
	secret := Relation{Public, "secret"}
	c := NewCatalog(Contents{Generation: 1, Relations: []Relation{secret, {Public, "open"}}, Traits: map[Relation]Traits{secret: {Protected: true}}})
	publish(t, db, c, "CREATE TABLE spice.public.secret AS SELECT 'VALUE' AS v", "CREATE VIEW spice.public.open AS SELECT 'VALUE' AS v")
	for sql, want := range map[string]string{
		"SELECT v::INTEGER FROM open":       "VALUE",
		"SELECT v::INTEGER FROM secret":     "on a value in a row",
		"SELECT error(v) FROM secret":       "on a value in a row",
		"SELECT nope FROM secret":           `"nope"`,
		"SELECT nope(v) FROM secret":        `"nope"`,
		"EXPLAIN SELECT * FROM secret":      "EXPLAIN is refused",
		"EXPLAIN ANALYZE FROM open, secret": "EXPLAIN is refused",
	} {
		_, err := texts(t.Context(), db, sql)
		if e := asError(t, err); !strings.Contains(e.Error(), want) || strings.Contains(e.Error(), "VALUE") != (want == "VALUE") {
			t.Errorf("%s: %v", sql, e)
		}
	}
}

package pgcatalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/udf"
)

// TestObjects: each view and macro works where only what it uses was made.
func TestObjects(t *testing.T) {
	db, err := engine.Open(t.Context(), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	udf.Serve(db, nil)
	names := objectNames(t)
	if len(names) < 200 || pgcatalog.Find("pg_clas") != nil {
		t.Fatalf("%d objects, pg_clas is %v", len(names), pgcatalog.Find("pg_clas"))
	}
	undone := errors.New("undone")
	err = db.Publish(t.Context(), engine.NewCatalog(engine.Contents{}), func(tx *engine.Tx) error {
		if err := execAll(tx, datasets.Tables()); err != nil {
			return err
		}
		if err := udf.Setup(tx, db.Builtins()); err != nil {
			return err
		}
		for _, name := range names {
			if err := errors.Join(tx.Exec(pgcatalog.CreateSchema), makeObject(tx, name, map[string]bool{})); err != nil {
				t.Errorf("%s: %v", name, err)
				return err
			}
			if err := tx.Exec("DROP SCHEMA spice." + pgcatalog.Schema + " CASCADE"); err != nil {
				return err
			}
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Error(err)
	}
}

// objectNames are the names of the tables, views and macros that Setup makes.
func objectNames(t *testing.T) (names []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, sql := range pgcatalog.Setup()[1:] {
		_, name, _ := strings.Cut(strings.ReplaceAll(sql, `"`, ""), "spice."+pgcatalog.Schema+".")
		if name = sqltree.Fold(strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" (\n", r) })[0]); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		if pgcatalog.Find(name) == nil {
			t.Errorf("there is no object %q", name)
		}
	}
	return names
}

// makeObject makes an object after those that it uses.
func makeObject(tx *engine.Tx, name string, made map[string]bool) error {
	if made[name] {
		return nil
	}
	made[name] = true
	o := pgcatalog.Find(name)
	for _, r := range o.Uses {
		if r.Schema != pgcatalog.Schema {
			continue
		}
		if err := makeObject(tx, r.Name, made); err != nil {
			return err
		}
	}
	return execAll(tx, o.Create)
}

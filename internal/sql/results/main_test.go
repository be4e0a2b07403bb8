package results_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a database whose statements find the results of a store.
type world struct {
	t     testing.TB
	db    *engine.DB
	dir   string
	store *results.Store
}

// as returns a context of a user's.
func as(user string) context.Context {
	return caller.With(context.Background(), caller.Caller{UserID: user})
}

// ownerOf returns what the store knows a user as.
func ownerOf(user string) string { return caller.Caller{UserID: user}.Owner() }

func newWorld(t testing.TB, limits spicepod.Results) *world {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "results")
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if err := db.Lock([]string{dir}); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: db, dir: dir}
	w.start(limits)
	return w
}

// start makes the store, as the start of a runtime does.
func (w *world) start(limits spicepod.Results) {
	w.t.Helper()
	store, err := results.New(results.Options{DB: w.db, Dir: w.dir, Limits: limits})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(store.Close)
	w.store = store
}

// fill writes the rows of a statement.
func (w *world) fill(to *results.Writer, rows *engine.Rows) error {
	for chunk, err := range rows.Chunks() {
		if err == nil {
			err = to.Append(chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep keeps the result of a statement.
func (w *world) keep(owner, sql string) (*results.Result, error) {
	rows, err := w.db.Query(as(owner), engine.Request{SQL: sql})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	writer, err := w.store.Create(as(owner), ownerOf(owner), rows.Columns())
	if err != nil {
		return nil, err
	}
	defer writer.Abort()
	if err := w.fill(writer, rows); err != nil {
		return nil, err
	}
	return writer.Close()
}

// must is keep, or the end of the test.
func (w *world) must(owner, sql string) *results.Result {
	w.t.Helper()
	r, err := w.keep(owner, sql)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return r
}

// query returns a statement's rows as NDJSON, or its error.
func (w *world) query(owner, sql string) (string, error) {
	rows, err := w.db.Query(as(owner), engine.Request{SQL: sql})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var text bytes.Buffer
	form, _ := format.ByName("ndjson")
	_, err = format.Copy(form.NewWriter(&text), rows)
	return text.String(), err
}

// expect checks a statement's rows.
func (w *world) expect(owner, sql, want string) {
	w.t.Helper()
	if got, err := w.query(owner, sql); got != want+"\n" || err != nil {
		w.t.Errorf("%s: got %s, %v; want %s", sql, got, err, want)
	}
}

// idle waits until no statement runs: one lets go of what it reads after its
// last row.
func (w *world) idle() {
	for w.db.Stats().Running > 0 {
		runtime.Gosched()
	}
}

// files are the names of the files in the store's folder, when nothing is read.
func (w *world) files() []string {
	w.idle()
	list, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// size is that of all files.
func (w *world) size() int64 {
	var n int64
	for _, file := range w.files() {
		if info, err := os.Stat(file); err == nil {
			n += info.Size()
		}
	}
	return n
}

// wantCode checks the code of an error, which must be the engine's.
func wantCode(t testing.TB, what string, err error, code errcode.Code) {
	t.Helper()
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// ref is a statement that counts the rows of a result.
func ref(r *results.Result) string { return "SELECT count(*) AS n FROM ref('" + r.Name + "')" }

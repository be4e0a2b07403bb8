package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/data/documents"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// TestMain is a worker that reads documents, for the command that runs one.
func TestMain(m *testing.M) {
	if os.Getenv("SPICED_SANDBOX") != "" {
		fmt.Fprintln(os.Stderr, sandbox.Main())
		os.Exit(1)
	}
	if len(os.Args) == 4 && os.Args[1] == documentCommand {
		os.Exit(1) // nothing is compiled before: each worker does it
	}
	if len(os.Args) == 3 && os.Args[1] == documentCommand {
		if err := documents.Main(os.Stdin, os.Stdout, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

const documentCommand = "document-worker"

// head begins the Spicepods of these tests.
const head = "version: v1\nkind: Spicepod\nname: test\nruntime: {functions: {enabled: true}}\n"

// files are the files of a Spicepod's folder, by name. A spicepod.yaml without
// a version gets head.
type files map[string]string

// rig is a runtime with its own folder.
type rig struct {
	*Runtime
	t   *testing.T
	dir string
}

// start runs a runtime over the files until the test ends.
func start(t *testing.T, f files, edit ...func(*Options)) *rig {
	t.Helper()
	r := prepare(t, f, edit...)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	wait.Until(r.t, "the first load", r.Ready)
	return r
}

// prepare opens a runtime that is not run.
func prepare(t *testing.T, f files, edit ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir()}
	r.write(f)
	opts := Options{Path: r.dir, Patience: time.Minute}
	for _, e := range edit {
		e(&opts)
	}
	d, err := New(t.Context(), opts)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	r.Runtime = d
	r.cleanup(d.Close)
	return r
}

func (r *rig) cleanup(f func()) { r.t.Cleanup(f) }

func (r *rig) write(f files) {
	r.t.Helper()
	for name, text := range f {
		if name == "spicepod.yaml" && !strings.HasPrefix(text, "version:") && !strings.HasPrefix(text, "raw:") {
			text = head + text
		}
		text = strings.TrimPrefix(text, "raw:")
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// pod writes spicepod.yaml and loads it.
func (r *rig) pod(text string) *Report {
	r.t.Helper()
	r.write(files{"spicepod.yaml": text})
	return r.reload()
}

func (r *rig) reload() *Report {
	r.t.Helper()
	report, err := r.Reload(r.t.Context(), "request")
	if err != nil {
		r.t.Fatalf("Reload: %v", err)
	}
	return report
}

// ask runs a statement: columns are joined by commas, rows by semicolons.
func (r *rig) ask(sql string) (string, error) { return ask(r.t.Context(), r.Runtime, sql) }

func ask(ctx context.Context, d *Runtime, sql string) (string, error) {
	rows, err := d.DB().Query(ctx, engine.Request{SQL: "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (" + sql + ")"})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var all []string
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return "", err
		}
		for i := range chunk.Len() {
			row := make([]string, len(rows.Columns()))
			for j := range row {
				row[j] = "NULL"
				if v := chunk.Column(j); v.Valid(i) {
					row[j] = string(v.Bytes(i))
				}
			}
			all = append(all, strings.Join(row, ","))
		}
	}
	return strings.Join(all, ";"), nil
}

// want checks what a statement answers.
func (r *rig) want(sql, want string) {
	r.t.Helper()
	got, err := r.ask(sql)
	if err != nil {
		r.t.Errorf("%s: %v", sql, err)
	} else if got != want {
		r.t.Errorf("%s: got %s, want %s", sql, got, want)
	}
}

// refused checks that a statement fails with a text in its error.
func (r *rig) refused(sql, want string) {
	r.t.Helper()
	got, err := r.ask(sql)
	if err == nil {
		r.t.Errorf("%s: got %s, want an error with %q", sql, got, want)
	} else if !strings.Contains(err.Error(), want) {
		r.t.Errorf("%s: got the error %q, want %q in it", sql, err, want)
	}
}

// problems checks a report's problems: each want is in the one at its place.
func (r *rig) problems(report *Report, want ...string) {
	r.t.Helper()
	var got []string
	for _, p := range report.Problems {
		got = append(got, p.Error())
	}
	same := len(got) == len(want)
	for i := 0; same && i < len(want); i++ {
		same = strings.Contains(got[i], want[i])
	}
	if !same {
		r.t.Errorf("problems:\n  %s\nwant parts:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (r *rig) changed(report *Report, want ...string) {
	r.t.Helper()
	got := slices.Sorted(slices.Values(report.Changed))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.t.Errorf("changed %q, want %q", got, want)
	}
}

// untilAnswer waits until a statement answers so.
func (r *rig) untilAnswer(sql, want string) {
	r.t.Helper()
	wait.Until(r.t, sql+" to be "+want, func() bool { got, err := r.ask(sql); return err == nil && got == want })
}

// fn is a scalar function of int64 arguments that returns int64.
func fn(name, args, body string) string {
	var list []string
	for a := range strings.FieldsSeq(args) {
		list = append(list, "{name: "+a+", type: int64}")
	}
	return fmt.Sprintf("  - name: %s\n    from: sql\n    signature: {args: [%s], returns: int64}\n    body: %q\n", name, strings.Join(list, ", "), body)
}

// tested adds a test to a function without arguments, or with x.
func tested(function string, x int, returns string) string {
	return function + fmt.Sprintf("    tests: [{args: {x: %d}, returns: %s}]\n", x, returns)
}

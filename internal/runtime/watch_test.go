package runtime

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/wait"
)

func watched(o *Options) { o.Watch = true }

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// replace writes a file as editors do: next to it, then over it.
func (r *rig) replace(name, text string) {
	r.t.Helper()
	r.write(files{name + "~": text})
	r.must(os.Rename(filepath.Join(r.dir, name+"~"), filepath.Join(r.dir, name)))
}

func TestWatchedFiles(t *testing.T) {
	ref := "functions:\n" + fn("f", "", "1") + "  - name: g\n    from: sql\n    signature: {args: [], returns: int64}\n    body_ref: sub/g.sql\n"
	r := start(t, files{
		"sub/g.sql": "10", "v.sql": "SELECT 100 AS a",
		"spicepod.yaml": "views: [{name: v, sql_ref: v.sql}]\n" + ref,
	}, watched)
	const all = "SELECT f(), g(), (SELECT a FROM v)"
	r.want(all, "1,10,100")
	edit := func(body string) string {
		return "views: [{name: v, sql_ref: v.sql}]\nfunctions:\n" + fn("f", "", body) + ref[len("functions:\n"+fn("f", "", "1")):]
	}
	r.write(files{"spicepod.yaml": edit("2")})
	r.untilAnswer(all, "2,10,100")
	r.replace("spicepod.yaml", head+edit("3"))
	r.untilAnswer(all, "3,10,100")
	if trigger := r.LastReport().Trigger; trigger != "file" {
		t.Errorf("trigger %q", trigger)
	}
	r.write(files{"sub/g.sql": "11"})
	r.untilAnswer(all, "3,11,100")
	r.replace("v.sql", "SELECT 101 AS a")
	r.untilAnswer(all, "3,11,101")

	r.write(files{"spicepod.yaml": "raw:version: ["})
	wait.Until(r.t, "the broken file to be refused", func() bool { return !r.LastReport().Accepted })
	r.want(all, "3,11,101")
	r.write(files{"spicepod.yaml": edit("4")})
	r.untilAnswer(all, "4,11,101")

	r.must(os.Remove(filepath.Join(r.dir, "spicepod.yaml")))
	wait.Until(r.t, "the missing file to be refused", func() bool { return !r.LastReport().Accepted })
	r.write(files{"spicepod.yaml": edit("5")})
	r.untilAnswer(all, "5,11,101")

	// A folder goes and comes back, as when a branch is checked out.
	r.must(os.RemoveAll(filepath.Join(r.dir, "sub")))
	wait.Until(r.t, "the missing folder to be noticed", func() bool { return len(r.LastReport().Problems) > 0 })
	r.write(files{"sub/g.sql": "12"})
	r.untilAnswer(all, "5,12,101")
	r.write(files{"sub/g.sql": "13"})
	r.untilAnswer(all, "5,13,101")
}

func TestWatchedLinks(t *testing.T) {
	// As Kubernetes mounts a ConfigMap: spicepod.yaml → ..data/spicepod.yaml,
	// ..data → ..1, and an update is a rename over ..data.
	r := &rig{t: t, dir: t.TempDir()}
	r.write(files{"..1/spicepod.yaml": head + "functions:\n" + fn("f", "", "1"), "..2/spicepod.yaml": head + "functions:\n" + fn("f", "", "2")})
	link := func(to, name string) { r.must(os.Symlink(to, filepath.Join(r.dir, name))) }
	link("..1", "..data")
	link("..data/spicepod.yaml", "spicepod.yaml")
	run := start(t, nil, watched, func(o *Options) { o.Path = r.dir })
	run.want("SELECT f()", "1")
	link("..2", "..tmp")
	r.must(os.Rename(filepath.Join(r.dir, "..tmp"), filepath.Join(r.dir, "..data")))
	run.untilAnswer("SELECT f()", "2")
}

func TestWatchedEnv(t *testing.T) {
	pod := "datasets: [{name: t, from: 'file:t.csv', params: {csv_delimiter: '${env:SPICED_TEST_DELIMITER}'}}]\n"
	r := start(t, files{"t.csv": "a|b\n1|2\n", ".env": "SPICED_TEST_DELIMITER=;\n", "spicepod.yaml": pod}, watched)
	t.Log(r.LastReport().Problems)
	r.write(files{".env.local": "SPICED_TEST_DELIMITER=|\n"})
	r.untilAnswer("SELECT a, b FROM t", "1,2")
}

func TestQuickEditsAreFewLoads(t *testing.T) {
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("f", "", "0")}, watched)
	for range 50 {
		r.write(files{"spicepod.yaml": "functions:\n" + fn("f", "", "1")})
	}
	r.write(files{"spicepod.yaml": "functions:\n" + fn("f", "", "2")})
	r.untilAnswer("SELECT f()", "2")
	if n := r.Current().Number; n > 15 {
		t.Errorf("%d generations", n)
	}
}

func TestFileWrittenBetweenLoadAndWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	since := time.Now()
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	changes := func(since time.Time) int {
		w, err := newWatcher(slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer w.fs.Close()
		n := 0
		w.set(watchSet{[]string{file}, since})
		w.check(func() { n++ })
		w.check(func() { n++ })
		return n
	}
	if n := changes(since); n != 1 {
		t.Errorf("written after the load began: %d changes, want 1", n)
	}
	if n := changes(since.Add(time.Minute)); n != 0 {
		t.Errorf("written before: %d changes, want 0", n)
	}
}

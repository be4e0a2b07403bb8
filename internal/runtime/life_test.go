package runtime

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestReloadsAtOnce(t *testing.T) {
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("f", "x", "x")})
	var group sync.WaitGroup
	for range 12 {
		group.Go(func() {
			if report, err := r.Reload(t.Context(), "request"); err != nil || !report.Accepted {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
	group.Wait()
	if n := r.Current().Number; n != 13 {
		t.Errorf("generation %d, want 13", n)
	}
}

func TestReloadAfterTheEnd(t *testing.T) {
	d := prepare(t, files{"spicepod.yaml": "functions: []\n"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx) }()
	wait.Until(t, "the first load", d.Ready)
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	for range 3 { // the queue takes one that no one serves
		if _, err := d.Reload(t.Context(), "request"); !errors.Is(err, errEnded) {
			t.Errorf("got %v, want %v", err, errEnded)
		}
	}
	d.Drain()
	if d.Ready() {
		t.Error("ready after Drain")
	}
}

func TestLoadThatIsCancelled(t *testing.T) {
	r := prepare(t, files{"t.csv": "a\n1\n", "spicepod.yaml": csvs + "functions:\n" + fn("f", "x", "x")})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if report := r.Load(cancelled, "start"); report.Accepted || r.Ready() {
		t.Errorf("report: %+v", report)
	}
	if report := r.Load(t.Context(), "start"); !report.Accepted || len(report.Problems) > 0 {
		t.Errorf("report: %+v", report)
	}
	r.want("SELECT f(a) FROM t", "1")
	r.write(files{"spicepod.yaml": "functions:\n" + fn("f", "x", "x + 1")})
	if report := r.Load(cancelled, "file"); report.Accepted || report.Generation != 1 {
		t.Errorf("report: %+v", report)
	}
	r.want("SELECT f(a) FROM t", "1")
}

func TestNewThatFailsLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	broken := &rig{t: t, dir: t.TempDir()}
	broken.write(files{"spicepod.yaml": "raw:version: ["})
	good := &rig{t: t, dir: t.TempDir()}
	good.write(files{"spicepod.yaml": "functions: []\n"})
	for name, opts := range map[string]Options{
		"no such path": {Path: filepath.Join(temp, "nowhere"), Watch: true},
		"bad YAML":     {Path: broken.dir, Watch: true},
	} {
		if d, err := New(t.Context(), opts); err == nil {
			d.Close()
			t.Errorf("%s: no error", name)
		} else {
			t.Log(err)
		}
	}
	d, err := New(t.Context(), Options{Path: good.dir, Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	d.Close() // goleak sees the watcher, if it stays
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// badInputs are the faults that a Spicepod may have; none of them may be more
// than a problem at its place.
func badInputs() map[string]struct {
	pod        string
	structural bool
	want       string
} {
	bomb := "metadata:\n  a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'm'; i++ {
		last := "*" + string(i-1)
		bomb += "  " + string(i) + ": &" + string(i) + " [" + strings.Repeat(last+",", 9) + last + "]\n"
	}
	return map[string]struct {
		pod        string
		structural bool
		want       string
	}{
		"broken YAML":        {"functions: [\n", true, ""},
		"large YAML":         {"metadata: {x: \"" + strings.Repeat("y", 10<<20) + "\"}\nfunctions: 3\n", true, "functions"},
		"alias bomb":         {bomb, true, ""},
		"wrong type":         {"functions: {f: 1}\n", true, ""},
		"unknown type":       {"functions:\n" + strings.Replace(fn("f", "x", "x"), "int64}]", "int65}]", 1), false, "int65"},
		"missing file":       {"datasets: [{name: t, from: 'file:nix.csv'}]\n", false, "nix.csv"},
		"ragged CSV":         {"datasets: [{name: t, from: 'file:ragged.csv', acceleration: {}}]\n", false, "ragged.csv"},
		"two statements":     {"functions:\n" + fn("f", "x", "1; DROP TABLE t"), false, ""},
		"missing body_ref":   {"functions:\n  - {name: f, from: sql, signature: {args: [], returns: int64}, body_ref: nix.sql}\n", false, "nix.sql"},
		"file access":        {"functions:\n" + fn("f", "", "(SELECT count(*) FROM read_csv('/etc/passwd'))"), false, ""},
		"a statement":        {"functions:\n" + fn("f", "", "DROP SCHEMA public"), false, ""},
		"duplicate function": {"functions:\n" + fn("f", "x", "x") + fn("F", "x", "x"), true, ""},
	}
}

func TestBadInputs(t *testing.T) {
	for name, test := range badInputs() {
		t.Run(name, func(t *testing.T) {
			ragged := "a,b\n" + strings.Repeat("1,2\n", 30000) + "1,2,3,4\n"
			good := "functions:\n" + fn("ok", "x", "x + 1")
			r := start(t, files{"ragged.csv": ragged, "spicepod.yaml": good})
			report := r.pod(test.pod)
			if report.Accepted == test.structural {
				t.Errorf("accepted: %t, problems: %.500s", report.Accepted, report.Problems.Error())
			}
			if !report.Problems.HasErrors() || !strings.Contains(report.Problems.Error(), test.want) {
				t.Errorf("problems: %.500s, want %q", report.Problems.Error(), test.want)
			}
			for _, p := range report.Problems {
				if p.Line == 0 {
					t.Errorf("no place: %.300s", p.Error())
				}
			}
			if test.structural {
				r.want("SELECT ok(1)", "2")
			}
			r.problems(r.pod(good))
			r.want("SELECT ok(1)", "2")
			if !test.structural || len(test.pod) > 1<<20 { // once is enough
				return
			}
			first := &rig{t: t, dir: t.TempDir()}
			first.write(files{"spicepod.yaml": test.pod})
			_, err := New(t.Context(), Options{Path: first.dir})
			var problems spicepod.Problems
			if !errors.As(err, &problems) {
				t.Errorf("New: %.300v, want Problems", err)
			}
		})
	}
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("per", "x", "CASE WHEN x = 0 THEN error('division by zero') ELSE 1 // x END")})
	r.problems(r.LastReport())
	r.refused("SELECT per(0)", "division by zero")
	r.want("SELECT per(1)", "1")
}

package environment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/scratch"
	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/internal/test/pypitest"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/spicepod"
)

// onePackage is a Spicepod whose function needs a package.
const onePackage = `functions:
  - name: f
    from: exec
    dependencies: [tiny]
    signature: { returns: int64 }
    body: |
      import tiny, inner
      def f(): return tiny.answer
`

// eachInstaller runs a test with pip, and with uv if it is there.
func eachInstaller(t *testing.T, test func(t *testing.T, s *Store)) {
	needsPython(t)
	t.Run("pip", func(t *testing.T) {
		t.Setenv("PATH", withoutUV(t))
		test(t, newStore(t))
	})
	t.Run("uv", func(t *testing.T) {
		if _, err := exec.LookPath("uv"); err != nil {
			t.Skip(err)
		}
		test(t, newStore(t))
	})
}

// withoutUV returns PATH without the folders that have uv.
func withoutUV(t *testing.T) string {
	folders := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "uv"))
		return err == nil
	})
	t.Setenv("PATH", strings.Join(folders, string(filepath.ListSeparator)))
	needsPython(t)
	return os.Getenv("PATH")
}

// needsPython skips tests where there is no interpreter.
func needsPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
}

func TestPackagesAreInstalledOnce(t *testing.T) {
	eachInstaller(t, func(t *testing.T, s *Store) {
		x := pypitest.New(t)
		t.Setenv("PIP_USER", "1") // settings that would lead elsewhere
		t.Setenv("PIP_TARGET", t.TempDir())
		ran := filepath.Join(t.TempDir(), "ran")
		digest := x.Add("tiny", "1.2", map[string]string{
			"tiny/__init__.py": "answer = 42\n", "tiny/broken.py": "def (\n", "evil.pth": fmt.Sprintf("import os; open(%q, 'w').close()\n", ran), "tiny.pyi": "",
		}, "inner>=1")
		x.Add("inner", "1.0", map[string]string{"inner.py": "x = 1\n"})
		pod := load(t, onePackage)
		set, problems := Compile(context.Background(), pod, s)
		e, f := set.Of("f")
		if e.Built() || len(problems) != 2 { // it is not built; inner may be missing
			t.Fatalf("built %v, problems %v", e.Built(), problems)
		}
		// What an interrupted build left is removed.
		if err := os.MkdirAll(filepath.Join(s.folder(e.buildKey), "left", "over"), 0o700); err != nil {
			t.Fatal(err)
		}
		if e.Built() {
			t.Error("what an interrupted build left is used")
		}
		if err := s.Build(context.Background(), e); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Error("installing ran code of a package")
		}
		if _, err := os.Stat(filepath.Join(s.folder(e.buildKey), "left")); err == nil {
			t.Error("the folder has what an interrupted build left")
		}
		r, ok := e.Record()
		if !e.Built() || !ok || !slices.Equal(r.Modules, []string{"inner", "tiny"}) {
			t.Errorf("built %v, record %+v", e.Built(), r)
		}
		i := slices.IndexFunc(r.Packages, func(p Package) bool { return p.Name == "tiny" && p.Version == "1.2" })
		if i < 0 || !slices.Contains(r.Packages[i].SHA256, digest) {
			t.Errorf("packages %+v, want tiny with %s", r.Packages, digest)
		}
		if compiled, _ := filepath.Glob(filepath.Join(s.folder(e.buildKey), "lib/python*/site-packages/tiny/__pycache__/__init__.*.pyc")); len(compiled) == 0 {
			t.Error("the packages are not compiled")
		}
		command := exec.Command(e.Interpreter(), "-I", "-c", "import tiny, inner; print(tiny.answer)")
		command.Env = e.Variables()
		if out, err := command.CombinedOutput(); err != nil || string(out) != "42\n" {
			t.Errorf("%s, %v", out, err)
		}
		reads := x.Downloads("tiny-1.2-py3-none-any.whl")
		if err := s.Build(context.Background(), e); err != nil || x.Downloads("tiny-1.2-py3-none-any.whl") != reads {
			t.Errorf("packages are installed again, or %v", err)
		}
		// Another line of code needs no other packages.
		changed, problems := Compile(context.Background(), load(t, onePackage+"      # changed\n"), s)
		if c, g := changed.Of("f"); !c.Built() || c.Checksum == e.Checksum || g.Checksum == f.Checksum || len(problems) > 0 {
			t.Errorf("a changed line: built %v, problems %v", c.Built(), problems)
		}
	})
}

// TestInterpretersWithoutPip: as many systems have them.
func TestInterpretersWithoutPip(t *testing.T) {
	needsPython(t)
	full.Need(t, "it installs pip, which takes long")
	withoutUV(t)
	s := newStore(t)
	python, err := s.findPython(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	python.Pip = ""
	pypitest.New(t).Add("tiny", "1.2", map[string]string{"tiny.py": ""})
	set, _ := Compile(context.Background(), load(t, onePackage), s)
	e := set.Get("default")
	if err := s.Build(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	if r, _ := e.Record(); !slices.Equal(r.Modules, []string{"tiny"}) {
		t.Errorf("modules %q: the environment has more than its packages", r.Modules)
	}
}

// TestPackagesThatCannotBeInstalled: the message is short, and at the requirement.
func TestPackagesThatCannotBeInstalled(t *testing.T) {
	full.Need(t, "pip takes seconds for each environment")
	eachInstaller(t, func(t *testing.T, s *Store) {
		x := pypitest.New(t)
		x.Add("tiny", "1.2", map[string]string{"tiny.py": ""}, "inner>=2")
		x.Add("inner", "1.0", map[string]string{"inner.py": ""})
		x.Add("outer", "1.0", map[string]string{"outer.py": ""}, "inner<1")
		x.AddFile("source-1.0.tar.gz", []byte("never read"))
		for _, c := range []struct{ dependencies, message, hint, at string }{
			{"inner, nosuchpackage", "nosuchpackage", "check the name and the version", "7:27"},
			{"inner, source", "source", "Only wheels are installed, never source distributions", "7:27"},
			{"inner, 'tiny==9'", "tiny", "", "7:27"},
			{"tiny", "inner", "", "7:20"},
			{"'inner==1', outer", "inner", "use versions that fit together", "7:20"},
		} {
			pod := load(t, strings.Replace("functions:\n  - name: f\n    from: exec\n    dependencies: [tiny]\n    signature: { returns: int64 }\n    body: "+
				"'def f(): return 1'\n", "[tiny]", "["+c.dependencies+"]", 1))
			set, _ := Compile(context.Background(), pod, s)
			e, _ := set.Of("f")
			var problems spicepod.Problems
			if err := s.Build(context.Background(), e); !errors.As(err, &problems) {
				t.Fatalf("%s: %v", c.dependencies, err)
			}
			p := problems[0]
			if !strings.Contains(p.Message, `the packages of sandbox "default" cannot be installed: `) || !strings.Contains(p.Message, c.message) ||
				len(p.Message) > maxReason+100 ||
				!strings.Contains(p.Hint, c.hint) || c.at != "7:20" && p.Position.String() != "spicepod.yaml:"+c.at {
				t.Errorf("%s: %v", c.dependencies, p)
			}
			if _, err := os.Stat(s.folder(e.buildKey)); err == nil || e.Built() {
				t.Errorf("%s: something is left", c.dependencies)
			}
		}
		if x.Downloads("source-1.0.tar.gz") > 0 {
			t.Error("a source distribution is downloaded")
		}
	})
}

// TestPackagesThatChangeAreRefused: what is installed has the hash of the lock.
func TestPackagesThatChangeAreRefused(t *testing.T) {
	full.Need(t, "pip takes seconds for each environment")
	eachInstaller(t, func(t *testing.T, s *Store) {
		x := pypitest.New(t)
		x.Add("tiny", "1.2", map[string]string{"tiny.py": "answer = 1"})
		x.Replace("tiny-1.2-py3-none-any.whl", pypitest.Wheel("tiny", "1.2", map[string]string{"tiny.py": "answer = 666"}))
		set, _ := Compile(context.Background(), load(t, onePackage), s)
		e, _ := set.Of("f")
		err := s.Build(context.Background(), e)
		if err == nil || e.Built() {
			t.Fatalf("built %v, %v", e.Built(), err)
		}
		if text := strings.ToLower(err.Error()); !strings.Contains(text, "hash") {
			t.Error(err)
		}
	})
}

func TestIndexesThatCannotBeReached(t *testing.T) {
	full.Need(t, "pip takes seconds for each environment")
	eachInstaller(t, func(t *testing.T, s *Store) {
		x := pypitest.New(t)
		x.Close()
		t.Setenv("PIP_INDEX_URL", strings.Replace(x.URL, "://", "://me:hunter2@", 1)+"/simple")
		t.Setenv("UV_DEFAULT_INDEX", os.Getenv("PIP_INDEX_URL"))
		t.Setenv("UV_HTTP_RETRIES", "0")
		t.Setenv("PIP_RETRIES", "1")
		set, _ := Compile(context.Background(), load(t, onePackage), s)
		e, _ := set.Of("f")
		err := s.Build(context.Background(), e)
		if err == nil || !strings.Contains(err.Error(), "the package index could not be reached") || strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
	})
}

// TestProcessesTakeTurns: a build waits for that of another process, and uses what it made.
func TestProcessesTakeTurns(t *testing.T) {
	needsPython(t)
	full.Need(t, "pip takes seconds for each environment")
	x := pypitest.New(t)
	x.Add("tiny", "1.2", map[string]string{"tiny.py": ""})
	s := newStore(t)
	other := NewStore(filepath.Dir(s.dir))
	t.Cleanup(other.Close)
	pod := load(t, onePackage)
	first, _ := Compile(context.Background(), pod, s)
	second, _ := Compile(context.Background(), pod, other)
	var group sync.WaitGroup
	for _, b := range []func() error{
		func() error { return s.Build(context.Background(), first.Get("default")) },
		func() error { return s.Build(context.Background(), first.Get("default")) },
		func() error { return other.Build(context.Background(), second.Get("default")) },
	} {
		group.Go(func() {
			if err := b(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := x.Downloads("tiny-1.2-py3-none-any.whl"); n > 2 { // to lock, and to install
		t.Errorf("%d downloads", n)
	}
}

// TestBuildsEndWithTheirStore: and leave nothing.
func TestBuildsEndWithTheirStore(t *testing.T) {
	needsPython(t)
	x := pypitest.New(t)
	x.Add("tiny", "1.2", map[string]string{"tiny.py": ""})
	x.Block()
	s := NewStore(t.TempDir())
	set, _ := Compile(context.Background(), load(t, onePackage), s)
	e := set.Get("default")
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() { failed <- s.Build(ctx, e) }()
	wait.Until(t, "a package is downloaded", func() bool { return x.Downloads("tiny-1.2-py3-none-any.whl") > 0 })
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.Close()
	if _, err := os.Stat(s.folder(e.buildKey)); err == nil || e.Built() {
		t.Error("something is left")
	}
	if err := s.Build(context.Background(), e); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

func TestOldPackagesAreRemoved(t *testing.T) {
	needsPython(t)
	full.Need(t, "pip takes seconds for each environment")
	x := pypitest.New(t)
	x.Add("tiny", "1.2", map[string]string{"tiny.py": ""})
	s := newStore(t)
	if removed := s.Collect(); removed != nil {
		t.Errorf("removed %q of nothing", removed)
	}
	set, _ := Compile(context.Background(), load(t, onePackage), s)
	e := set.Get("default")
	if err := s.Build(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	left := s.folder(strings.Repeat("0", digits))
	foreign := filepath.Join(s.dir, "of someone else")
	for _, dir := range []string{left, foreign} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := scratch.LockFile(filepath.Join(s.dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if removed := s.Collect(); removed != nil {
		t.Errorf("removed %q while a process builds", removed)
	}
	lock.Close()
	if removed := s.Collect(); !slices.Equal(removed, []string{strings.Repeat("0", digits)}) || !e.Built() {
		t.Errorf("removed %q; what was used a moment ago stays", removed)
	}
	past := time.Now().Add(-2 * keepInState)
	age := func() {
		if err := os.Chtimes(s.folder(e.buildKey), past, past); err != nil {
			t.Fatal(err)
		}
	}
	user := NewStore(filepath.Dir(s.dir))
	t.Cleanup(user.Close)
	Compile(context.Background(), load(t, onePackage), user)
	age()
	if removed := s.Collect(); len(removed) > 0 {
		t.Errorf("removed %q, which another process uses", removed)
	}
	user.Close()
	other := NewStore(filepath.Dir(s.dir))
	Compile(context.Background(), load(t, onePackage), other) // uses it, a moment ago
	other.Close()
	if removed := s.Collect(); len(removed) > 0 {
		t.Errorf("removed %q, which was used a moment ago", removed)
	}
	age()
	if removed := s.Collect(); !slices.Equal(removed, []string{e.buildKey}) || e.Built() {
		t.Errorf("removed %q", removed)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

// TestInstallersSeeNoSecrets: of the Spicepod and of the process.
func TestInstallersSeeNoSecrets(t *testing.T) {
	t.Setenv("PIP_INDEX_URL", "https://index.example")
	t.Setenv("UV_TOKEN", "s3cr3t-value")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t-value")
	t.Setenv("PYTHONPATH", "/evil")
	t.Setenv("PIP_TARGET", "/elsewhere")
	list := environ(true, []string{"UV_TOKEN"})
	for _, pair := range list {
		if strings.Contains(pair, "s3cr3t-value") || strings.HasPrefix(pair, "PYTHON") || strings.HasPrefix(pair, "PIP_TARGET") {
			t.Errorf("installers see %s", pair)
		}
	}
	if !slices.Contains(list, "PIP_INDEX_URL=https://index.example") {
		t.Error("installers do not see the settings of pip")
	}
	if slices.ContainsFunc(environ(false, nil), func(pair string) bool { return strings.HasPrefix(pair, "PIP_") }) {
		t.Error("interpreters see the settings of pip")
	}
}

// TestTheExampleOfTheSeed installs numpy and pandas from the package index of Python: once on a
// machine, in the user's cache folder, because it takes half a minute.
func TestTheExampleOfTheSeed(t *testing.T) {
	clients.Need(t, "THE PACKAGE INDEX OF PYTHON")
	needsPython(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}}
	if resp, err := client.Head("https://pypi.org/simple/numpy/"); err != nil || resp.StatusCode != http.StatusOK {
		t.Skip("the package index cannot be reached")
	}
	t.Setenv("DB_URL", "postgres://db")
	t.Setenv("ANALYTICS_TOKEN", "token")
	s := NewStore(filepath.Join(cache, "spiced", "test-environments"))
	t.Cleanup(s.Close)
	pod := load(t, analytics)
	set, _ := Compile(context.Background(), pod, s)
	if err := s.Build(context.Background(), set.Get("analytics")); err != nil {
		t.Fatal(err)
	}
	set, problems := Compile(context.Background(), pod, s)
	s.Collect() // those of other interpreters
	e, f := set.Of("analyze_behavior")
	if len(problems) > 0 || !e.Built() || f.Fault() != nil {
		t.Fatalf("built %v, problems %v", e.Built(), problems)
	}
	command := exec.Command(e.Interpreter(), "-I", "-c", "import asyncio, numpy\n"+f.Declared.Body+
		"\nprint(asyncio.run(analyze_behavior('u')), numpy.ones(3).sum())")
	command.Env = e.Variables()
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "'score': 0.85}} 3.0") {
		t.Errorf("%s, %v", out, err)
	}
}

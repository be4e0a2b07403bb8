package runtime

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/pypitest"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/spicepod"
)

// sandboxed is a Spicepod whose function needs a package; BUILD is when it is installed.
const sandboxed = `sandboxes:
  - { name: tools, description: Some tools., dependencies: [tiny], secrets: [SPICED_T_BASE], build: BUILD }
functions:
  - name: answer
    from: exec
    sandbox: tools
    dependencies: [Inner]
    secrets: [SPICED_T_TOKEN]
    signature: { returns: int64 }
    body: |
      import tiny, inner
      def answer(): return tiny.answer
  - { name: twice, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: 'x * 2' }
`

// inState gives the runtime a state directory.
func inState(t *testing.T) func(*Options) {
	dir := t.TempDir()
	return func(o *Options) { o.StateDir = dir }
}

// packagesOf starts an index with the packages of sandboxed, and sets its secrets.
func packagesOf(t *testing.T) *pypitest.Index {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	x := pypitest.New(t)
	x.Add("tiny", "1.0", map[string]string{"tiny.py": "answer = 42\n"})
	x.Add("inner", "2.0", map[string]string{"inner.py": ""})
	t.Setenv("SPICED_T_BASE", "base")
	t.Setenv("SPICED_T_TOKEN", "s3cr3t-value")
	return x
}

func TestSandboxesAreBuiltOnRequest(t *testing.T) {
	packagesOf(t)
	r := start(t, files{"spicepod.yaml": strings.Replace(sandboxed, "BUILD", "manual", 1)}, inState(t))
	r.want("SELECT twice(2)", "4")
	r.want("SELECT name, runtime, array_to_string(dependencies, '+'), array_to_string(secrets, '+'), built, array_to_string(functions, '+'), isolation, network, "+
		"length(checksum) FROM spiced.sandboxes ORDER BY ALL",
		"default,python,,,true,,required,none,64;tools,python,inner+tiny,SPICED_T_BASE+SPICED_T_TOKEN,false,answer,required,none,64")
	// Nothing runs in default, and this process has no command that confines itself.
	r.want("SELECT name, coalesce(isolated::VARCHAR, '-'), coalesce(len(layers), -1), missing_layers[2] IS NOT NULL FROM spiced.sandboxes ORDER BY ALL",
		"default,-,-1,false;tools,false,0,true")
	const notInstalled = "SELECT count(*) FROM spiced.load_errors WHERE component = 'function answer' AND message LIKE 'the packages of its sandbox \"tools\" " +
		"are not installed' AND hint LIKE 'run: spiced sandbox build tools%'"
	r.want(notInstalled, "1")
	if err := r.BuildSandbox(t.Context(), "tool"); !errors.Is(err, ErrNoSandbox) {
		t.Error(err)
	}
	if err := r.BuildSandbox(t.Context(), "Tools"); err != nil {
		t.Fatal(err)
	}
	r.want("SELECT built FROM spiced.sandboxes WHERE name = 'tools'", "true")
	r.want(notInstalled, "0")
	r.want("SELECT count(*) FROM spiced.load_errors WHERE message LIKE '%s3cr3t-value%' OR hint LIKE '%s3cr3t-value%'", "0")
	if err := r.BuildSandbox(t.Context(), "tools"); err != nil {
		t.Error(err)
	}
}

func TestMissingSecretsMakeFunctionsUnavailable(t *testing.T) {
	r := start(t, files{"spicepod.yaml": strings.NewReplacer("BUILD", "manual", "[tiny]", "[]", "[Inner]", "[]", "import tiny, inner", "").Replace(sandboxed)},
		inState(t))
	r.want("SELECT twice(2)", "4")
	r.want("SELECT message FROM spiced.load_errors WHERE component = 'function answer' ORDER BY ALL",
		"missing_secret: the variable SPICED_T_BASE is not set;missing_secret: the variable SPICED_T_TOKEN is not set")
	r.want("SELECT array_to_string(missing_secrets, '+') FROM spiced.sandboxes WHERE name = 'tools'", "SPICED_T_BASE+SPICED_T_TOKEN")
	r.refused("SELECT answer()", "function answer is not served: missing_secret: the variable SPICED_T_")
}

// TestSandboxesAreBuiltAtLoad: what needs no packages serves meanwhile.
func TestSandboxesAreBuiltAtLoad(t *testing.T) {
	x := packagesOf(t)
	release := x.Block()
	r := start(t, files{"spicepod.yaml": strings.Replace(sandboxed, "BUILD", "auto", 1)}, inState(t), func(o *Options) { o.Patience = time.Millisecond })
	r.want("SELECT twice(2)", "4")
	r.want("SELECT built FROM spiced.sandboxes WHERE name = 'tools'", "false")
	release()
	wait.Until(t, "the packages are in use", func() bool { return r.Environments().Get("tools").Built() && r.Current().Number > 1 })
	r.want("SELECT built FROM spiced.sandboxes WHERE name = 'tools'", "true")
}

// TestPackagesThatCannotBeInstalledAtLoad: the load that follows does not try again.
func TestPackagesThatCannotBeInstalledAtLoad(t *testing.T) {
	packagesOf(t)
	text := strings.NewReplacer("BUILD", "auto", "[tiny]", "[tiny, nosuchpackage]").Replace(sandboxed)
	r := start(t, files{"spicepod.yaml": text}, inState(t), func(o *Options) { o.Patience = time.Millisecond })
	var p spicepod.Problem
	wait.Until(t, "the fault is reported", func() bool {
		for _, p = range r.LastReport().Problems {
			if p.Component == "sandbox tools" {
				return true
			}
		}
		return false
	})
	if !strings.Contains(p.Message, "nosuchpackage") || p.Position.String() != "spicepod.yaml:6:67" {
		t.Errorf("%v", p)
	}
	r.want("SELECT twice(2)", "4")
	r.want("SELECT trigger FROM spiced.generations ORDER BY generation", "start;built")
}

// TestOfflineLoadsInstallNothing: as those of validate.
func TestOfflineLoadsInstallNothing(t *testing.T) {
	x := packagesOf(t)
	r := prepare(t, files{"spicepod.yaml": strings.Replace(sandboxed, "BUILD", "auto", 1)}, inState(t), func(o *Options) { o.Offline = true })
	r.Load(t.Context(), "start")
	if x.Downloads("tiny-1.0-py3-none-any.whl") > 0 {
		t.Error("packages are downloaded")
	}
}

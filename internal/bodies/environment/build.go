package environment

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/kit/scratch"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

// Limits of builds.
const (
	buildLimit     = 15 * time.Minute
	maxInstallerIO = 256 << 10 // bytes of the output of an installer that are kept: the last ones
	maxReport      = 64 << 20  // bytes of the report of pip
	maxReason      = 500       // bytes of an installer's error in a message
	lockPoll       = 100 * time.Millisecond
)

//go:embed modules.py
var modulesScript string

// errBuildLimit means that a build took too long.
var errBuildLimit = fmt.Errorf("it takes longer than %s", buildLimit)

// errClosed means that the store was closed.
var errClosed = errors.New("spiced is shutting down")

// Build installs the packages of an environment, unless they are installed. Builds of the same
// packages share one, and processes take turns. When ctx ends Build returns, and the build goes
// on until [Store.Close]. The error of a build is [spicepod.Problems].
func (s *Store) Build(ctx context.Context, e *Environment) error {
	if e.fault != nil {
		return spicepod.Problems{*e.fault}
	}
	if e.Built() {
		return nil
	}
	b, err := s.start(e)
	if err != nil {
		return err
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// start begins a build, or joins one.
func (s *Store) start(e *Environment) (*building, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.builds[e.buildKey]; b != nil {
		return b, nil
	}
	if s.isClosed() {
		return nil, errClosed
	}
	b := &building{done: make(chan struct{})}
	s.builds[e.buildKey] = b
	s.running.Go(func() {
		ctx, cancel := context.WithTimeoutCause(context.Background(), buildLimit, errBuildLimit)
		s.running.Go(func() {
			select {
			case <-s.closed:
			case <-ctx.Done():
			}
			cancel()
		})
		b.err = s.build(ctx, e)
		cancel()
		s.mu.Lock()
		delete(s.builds, e.buildKey)
		s.mu.Unlock()
		close(b.done)
	})
	return b, nil
}

// build installs the packages while no other process builds.
func (s *Store) build(ctx context.Context, e *Environment) error {
	lock, err := s.lock(ctx)
	if err != nil {
		return e.buildProblem(err)
	}
	defer lock.Close()
	if e.Built() {
		return nil
	}
	if err := s.remove(e.buildKey); err != nil {
		return e.buildProblem(err)
	}
	i := &installation{env: e, dir: s.folder(e.buildKey), environ: environ(true, e.Secrets)}
	if i.work, err = os.MkdirTemp("", "spiced-build-"); err != nil {
		return e.buildProblem(err)
	}
	defer os.RemoveAll(i.work)
	record, err := i.install(ctx)
	if err == nil {
		err = disk.WriteJSON(s.recordFile(e.buildKey), record)
	}
	if err == nil {
		err = disk.Write(s.BuiltFile(), []byte(e.buildKey+"\n"), 0o600)
	}
	if err != nil {
		_ = s.remove(e.buildKey)
		return e.buildProblem(err)
	}
	return nil
}

// lock waits until no other process builds.
func (s *Store) lock(ctx context.Context) (*os.File, error) {
	if s.dir == "" {
		return nil, errors.New("there is no folder for packages: set HOME or XDG_CACHE_HOME, or give --state-dir")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for packages: %w", err)
	}
	for {
		lock, err := scratch.LockFile(filepath.Join(s.dir, "lock"))
		if !errors.Is(err, scratch.ErrLocked) {
			return lock, err
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return nil, fmt.Errorf("another process builds: %w", context.Cause(ctx))
		}
	}
}

// installation is a build of one environment.
type installation struct {
	env     *Environment
	dir     string // of the packages
	work    string // an empty folder, removed afterwards
	environ []string
}

// installer is how packages are locked and installed.
type installer interface {
	// create makes a virtual environment in the folder.
	create(ctx context.Context) error
	// lock writes the exact versions with their hashes to a file that install reads, from a
	// file with requirements.
	lock(ctx context.Context, requirements, locked string) ([]Package, error)
	install(ctx context.Context, locked string) error
	name() string
}

// install installs the packages, and returns what they are.
func (i *installation) install(ctx context.Context) (*Record, error) {
	var how installer
	how = pip{i}
	if path, err := exec.LookPath("uv"); err == nil {
		how = uv{i, path}
	}
	requirements, locked := filepath.Join(i.work, "requirements.in"), filepath.Join(i.work, "requirements.txt")
	if err := os.WriteFile(requirements, []byte(strings.Join(i.env.Dependencies, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	if err := how.create(ctx); err != nil {
		return nil, err
	}
	packages, err := how.lock(ctx, requirements, locked)
	if err != nil {
		return nil, err
	}
	if err := how.install(ctx, locked); err != nil {
		return nil, err
	}
	r := &Record{
		Requirements: i.env.Dependencies, Python: i.env.python.Version, Installer: how.name(), Packages: packages,
		Built: time.Now().UTC().Truncate(time.Second),
	}
	r.Modules, err = i.complete(ctx)
	return r, err
}

// complete compiles the packages, which code cannot do later, and lists their modules. It does
// not start the interpreter of the environment: a file of a package can make that run code.
func (i *installation) complete(ctx context.Context) (modules []string, err error) {
	site, err := filepath.Glob(filepath.Join(i.dir, "lib", "python*", "site-packages"))
	if len(site) == 0 {
		site = []string{filepath.Join(i.dir, "Lib", "site-packages")}
	}
	if err != nil {
		return nil, err
	}
	// Packages may have files that do not compile: examples of another version.
	_, err = i.run(ctx, i.env.python.Executable, "-I", "-S", "-m", "compileall", "-q", "-j", "0", "-x",
		`[/\\]tests?[/\\]`, site[0])
	if ctx.Err() != nil {
		return nil, err
	}
	out, err := i.run(ctx, i.env.python.Executable, "-I", "-S", "-c", modulesScript, site[0])
	if err != nil {
		return nil, err
	}
	return modules, json.Unmarshal(out, &modules)
}

// run runs a step of the build in the empty folder.
func (i *installation) run(ctx context.Context, args ...string) ([]byte, error) {
	return command{args: args, dir: i.work, environ: i.environ, most: maxInstallerIO, keepTail: true}.run(ctx)
}

// credentials matches the user and password of a URL.
var credentials = regexp.MustCompile(`://[^/@\s]+@`)

// unreachable are parts of what installers write when an index cannot be reached.
var unreachable = []string{
	"NewConnectionError", "ConnectTimeoutError", "Failed to establish a new connection", "name resolution", "ProxyError",
	"ReadTimeoutError",
	"CERTIFICATE_VERIFY_FAILED", "dns error", "error sending request", "Connection refused", "Failed to fetch",
}

// Hints of builds that failed.
const (
	hintUnreachable = "the package index could not be reached: check the network, and the variables of pip or uv, such " +
		"as PIP_INDEX_URL and HTTPS_PROXY"
	hintConflict = "use versions that fit together, or give the functions different sandboxes"
)

// buildProblem returns the error of a build, at the requirement that it is about.
func (e *Environment) buildProblem(err error) error {
	output, reason, hint := "", err.Error(), ""
	var failed *processError
	if errors.As(err, &failed) {
		output = failed.output
		reason = truncate.Ellipsis(briefly(output, failed.err), maxReason)
		hint = e.buildHint(output)
	}
	reason = credentials.ReplaceAllString(strings.ReplaceAll(reason, e.store.dir, "…"), "://…@")
	path := cmp.Or(e.Path, "functions")
	if r := e.blamed(reason); r != nil {
		path = r.paths[0]
	}
	p := e.pod.Problem(path, fmt.Sprintf("the packages of sandbox %q cannot be installed: %s", e.Name, reason), hint)
	p.Component = "sandbox " + e.Name
	return spicepod.Problems{p}
}

func (e *Environment) buildHint(output string) string {
	switch {
	case slices.ContainsFunc(unreachable, func(s string) bool { return strings.Contains(output, s) }):
		return hintUnreachable
	case strings.Contains(output, "No matching distribution") ||
		strings.Contains(output, "not found in the package registry") || strings.Contains(output, "no usable wheels") ||
		strings.Contains(output, "no wheels"):
		return fmt.Sprintf("check the name and the version. Only wheels are installed, never source "+
			"distributions, whose code "+
			"would run outside of the sandbox: the package needs one for Python %s on %s", e.python.Minor, e.python.Platform)
	case strings.Contains(output, "conflict") || strings.Contains(output, "unsatisfiable"):
		return hintConflict
	case strings.Contains(output, "ensurepip"):
		return "install the system's packages with venv and pip, such as python3-venv and python3-pip; or uv"
	}
	return ""
}

// briefly returns the lines of an installer's output that say what is wrong.
func briefly(output string, err error) string {
	var lines []string
	ofUV := false // whose sentences are wrapped
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "ERROR: "):
			lines = append(lines, strings.TrimPrefix(line, "ERROR: "))
		case strings.HasPrefix(line, "error: "):
			ofUV = true
			lines = append(lines, strings.TrimPrefix(line, "error: "))
		case strings.HasPrefix(line, "cause: "), strings.HasPrefix(line, "╰─▶ "):
			ofUV, lines = true, []string{strings.TrimPrefix(strings.TrimPrefix(line, "cause: "), "╰─▶ ")}
		case ofUV && line != "" && !strings.HasPrefix(line, "hint:"):
			lines = append(lines, line)
		}
	}
	if text := truncate.Line(strings.Join(slices.Compact(lines), " "), maxReason); text != "" {
		return text
	}
	return truncate.Line(reasonOf(&processError{err, output}), maxReason)
}

// blamed returns the requirement that an error names first, or nil.
func (e *Environment) blamed(reason string) *requirement {
	text := " " + normalName(reason)
	first, at := (*requirement)(nil), len(text)
	for _, r := range e.requirements {
		found := regexp.MustCompile(`[^a-z0-9-]` + regexp.QuoteMeta(r.name) + `(?:[^a-z0-9-]|-?$)`).FindStringIndex(text)
		if found != nil && found[0] < at && len(r.paths) > 0 {
			first, at = r, found[0]
		}
	}
	return first
}

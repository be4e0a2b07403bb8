package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// pip installs with Python's own tools.
type pip struct{ *installation }

// pipOptions are those of every installation. Wheels alone: the setup code of source
// distributions would run here.
var pipOptions = []string{"--quiet", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:"}

// redirecting are the variables with which pip would install elsewhere or something else.
var redirecting = []string{
	"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIREMENT", "PIP_EDITABLE",
	"PIP_REPORT", "PIP_DRY_RUN", "PIP_PYTHON",
}

func (p pip) name() string { return "pip" }

// runs reports whether the pip of the interpreter installs into other environments.
func (p pip) runs() bool {
	major, rest, _ := strings.Cut(p.env.python.Pip, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, errMajor := strconv.Atoi(major)
	m, errMinor := strconv.Atoi(minor)
	return errMajor == nil && errMinor == nil && (n > 22 || n == 22 && m >= 3)
}

// interpreter returns the path of an interpreter with pip: one without it gets one for the
// time of the build.
func (p pip) interpreter() string {
	if p.runs() {
		return p.env.python.Executable
	}
	return interpreterIn(filepath.Join(p.work, "pip"))
}

func (p pip) create(ctx context.Context) error {
	if !p.runs() {
		if _, err := p.run(ctx, p.env.python.Executable, "-I", "-m", "venv", filepath.Join(p.work, "pip")); err != nil {
			return err
		}
	}
	_, err := p.run(ctx, p.env.python.Executable, "-I", "-m", "venv", "--without-pip", p.dir)
	return err
}

// pip runs pip install.
func (p pip) pip(ctx context.Context, args ...string) error {
	command := []string{p.interpreter(), "-m", "pip", "--python", interpreterIn(p.dir), "install"}
	_, err := p.run(ctx, append(append(command, pipOptions...), args...)...)
	return err
}

// pipReport is what `pip install --report` writes.
type pipReport struct {
	Install []struct {
		Metadata     struct{ Name, Version string }
		DownloadInfo struct {
			ArchiveInfo struct {
				Hash   string
				Hashes map[string]string
			} `json:"archive_info"`
		} `json:"download_info"`
	}
}

func (p pip) lock(ctx context.Context, requirements, locked string) ([]Package, error) {
	file := filepath.Join(p.work, "report.json")
	if err := p.pip(ctx, "--dry-run", "--ignore-installed", "--report", file, "--requirement", requirements); err != nil {
		return nil, err
	}
	raw, err := readAtMost(file, maxReport)
	if err != nil {
		return nil, err
	}
	var report pipReport
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, fmt.Errorf("read the report of pip: %w", err)
	}
	var packages []Package
	var text strings.Builder
	for _, found := range report.Install {
		archive := found.DownloadInfo.ArchiveInfo
		hash := archive.Hashes["sha256"]
		if hash == "" {
			hash, _ = strings.CutPrefix(archive.Hash, "sha256=")
		}
		pkg := Package{normalName(found.Metadata.Name), found.Metadata.Version, []string{hash}}
		line := fmt.Sprintf("%s==%s --hash=sha256:%s", pkg.Name, pkg.Version, hash)
		if !lockedLine.MatchString(line) {
			return nil, fmt.Errorf("pip reports no version and SHA-256 of %q", pkg.Name)
		}
		packages = append(packages, pkg)
		text.WriteString(line + "\n")
	}
	return packages, os.WriteFile(locked, []byte(text.String()), 0o600)
}

func (p pip) install(ctx context.Context, locked string) error {
	return p.pip(ctx, "--require-hashes", "--no-deps", "--no-compile", "--requirement", locked)
}

// readAtMost reads a file that a process wrote.
func readAtMost(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, most+1))
	if int64(len(raw)) > most {
		return nil, errTooLong
	}
	return raw, err
}

// uv installs with uv, which is faster.
type uv struct {
	*installation
	path string
}

func (u uv) name() string { return "uv" }

func (u uv) create(ctx context.Context) error {
	_, err := u.run(ctx, u.path, "venv", "--quiet", "--python", u.env.python.Executable, u.dir)
	return err
}

// Lines of a lock.
var (
	lockedPackage = regexp.MustCompile(`^([A-Za-z0-9._-]+)==([A-Za-z0-9._+!-]+)`)
	lockedHash    = regexp.MustCompile(`--hash=sha256:([0-9a-f]{64})`)
	lockedLine    = regexp.MustCompile(`^[a-z0-9-]+==[A-Za-z0-9._+!-]+ --hash=sha256:[0-9a-f]{64}$`)
)

func (u uv) lock(ctx context.Context, requirements, locked string) ([]Package, error) {
	_, err := u.run(ctx, u.path, "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate",
		"--only-binary", ":all:",
		"--python", u.env.python.Executable, "--output-file", locked, requirements)
	if err != nil {
		return nil, err
	}
	raw, err := readAtMost(locked, maxReport)
	if err != nil {
		return nil, err
	}
	var packages []Package
	for line := range strings.Lines(string(raw)) {
		if m := lockedPackage.FindStringSubmatch(line); m != nil {
			packages = append(packages, Package{Name: normalName(m[1]), Version: m[2]})
		}
		if m := lockedHash.FindStringSubmatch(line); m != nil && len(packages) > 0 {
			last := &packages[len(packages)-1]
			last.SHA256 = append(last.SHA256, m[1])
		}
	}
	if len(packages) == 0 {
		return nil, errors.New("uv writes no packages")
	}
	return packages, nil
}

func (u uv) install(ctx context.Context, locked string) error {
	_, err := u.run(ctx, u.path, "pip", "install", "--quiet", "--python", interpreterIn(u.dir),
		"--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement", locked)
	return err
}

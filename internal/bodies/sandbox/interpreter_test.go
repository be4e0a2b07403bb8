package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// interpreter is a Python interpreter with what it reads.
type interpreter struct {
	Path     string
	Version  string
	ReadOnly []string // its folders
}

// interpreterTimeout bounds the start of an interpreter.
const interpreterTimeout = 20 * time.Second

// findPython asks a Python interpreter where it is and what it reads. name is a path, or a
// name to look up in PATH; "" is python3.
func findPython(ctx context.Context, name string) (interpreter, error) {
	if name == "" {
		name = "python3"
	}
	ctx, cancel := context.WithTimeout(ctx, interpreterTimeout)
	defer cancel()
	path, err := exec.LookPath(name)
	if err != nil {
		return interpreter{}, fmt.Errorf("there is no %s in PATH; install Python 3.9 or later", name)
	}
	cmd := exec.CommandContext(ctx, path, "-I", "-c", question)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return len(v) > 6 && v[:6] == "PYTHON" })
	text, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			err = fmt.Errorf("%w: %s", err, firstLine(exit.Stderr))
		}
		return interpreter{}, fmt.Errorf("%s does not run: %w", path, err)
	}
	var answer struct {
		Path    string
		Version []int
		Folders []string
	}
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Version) < 2 {
		return interpreter{}, fmt.Errorf("%s is no Python interpreter: it printed %s", path, firstLine(text))
	}
	i := interpreter{Path: answer.Path, Version: fmt.Sprintf("%d.%d", answer.Version[0], answer.Version[1])}
	if v := answer.Version; v[0] != 3 || v[1] < 9 {
		return interpreter{}, fmt.Errorf("%s is Python %s; sandboxes need Python 3.9 or later", path, i.Version)
	}
	for _, folder := range answer.Folders {
		folder = filepath.Clean(folder)
		if filepath.IsAbs(folder) && !slices.Contains([]string{"/", "/usr", "/usr/local", "/opt", "/home", "/root"}, folder) && !slices.Contains(i.ReadOnly, folder) {
			i.ReadOnly = append(i.ReadOnly, folder)
		}
	}
	return i, nil
}

// question is what an interpreter is asked. A prefix such as /usr is left out: its parts
// are among the system's folders.
const question = `import json, sys, os, sysconfig
folders = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, os.path.dirname(os.path.realpath(sys.executable))}
folders |= {p for p in sys.path if os.path.isdir(p)} | {p for k, p in sysconfig.get_paths().items() if k in ("stdlib", "platstdlib", "purelib", "platlib")}
print(json.dumps({"Path": sys.executable, "Version": list(sys.version_info[:3]), "Folders": sorted(folders)}))`

func firstLine(text []byte) string {
	const most = 200
	for i, b := range text {
		if b == '\n' || i == most {
			return string(text[:i])
		}
	}
	return string(text)
}

package environment

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Python is an interpreter.
type Python struct {
	Executable     string   `json:"executable"`     // absolute
	Version        string   `json:"version"`        // 3.12.4
	Minor          string   `json:"minor"`          // 3.12
	Implementation string   `json:"implementation"` // cpython
	Platform       string   `json:"platform"`       // linux-x86_64
	Folders        []string `json:"folders"`        // with its library
	Pip            string   `json:"pip"`            // version of pip; "": it has none
}

// The oldest Python that is used: 3.9.
const oldestMinor = 9

// probeLimit is how long an interpreter takes at most to describe itself.
const probeLimit = 20 * time.Second

//go:embed probe.py
var probeScript string

// errNoPython means that there is no interpreter.
var errNoPython = errors.New("there is no python3 in PATH")

// pythonHint is what to do without a suitable interpreter.
var pythonHint = fmt.Sprintf("install Python 3.%d or later, and put its folder into PATH", oldestMinor)

// findPython returns the first python3 in PATH.
func findPython(ctx context.Context) (*Python, error) {
	path, err := exec.LookPath("python3")
	if err != nil {
		return nil, errNoPython
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeLimit,
		fmt.Errorf("python3 takes longer than %s to start", probeLimit))
	defer cancel()
	out, err := command{args: []string{path, "-c", probeScript}, environ: environ(false, nil), most: 64 << 10}.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("python3 does not work: %s", reasonOf(err))
	}
	p := &Python{}
	if err := json.Unmarshal(out, p); err != nil || p.Executable == "" {
		return nil, errors.New("python3 does not work: it does not describe itself")
	}
	major, minor, _ := strings.Cut(p.Minor, ".")
	if n, err := strconv.Atoi(minor); err != nil || major != "3" || n < oldestMinor {
		return nil, fmt.Errorf("python3 in PATH is version %s, which is too old", p.Version)
	}
	return p, nil
}

// reasonOf returns the last line that a process wrote, or its error.
func reasonOf(err error) string {
	var failed *processError
	if errors.As(err, &failed) {
		lines := strings.Split(strings.TrimSpace(failed.output), "\n")
		if last := truncate.Line(lines[len(lines)-1], 300); last != "" {
			return last
		}
	}
	return err.Error()
}

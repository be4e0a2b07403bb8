package isolate_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/isolate"
)

// TestMemoryOfAControlGroup runs this binary in a control group of 6 GiB: two workers have half
// of that, not of the machine's memory.
func TestMemoryOfAControlGroup(t *testing.T) {
	group, limit := controlGroup(t)
	if err := os.WriteFile(filepath.Join(group, limit), []byte("6442450944"), 0o600); err != nil {
		t.Skip("the group has no memory controller: " + err.Error())
	}
	cmd := exec.Command("/bin/sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$1"`, group, os.Args[0])
	cmd.Env = append(os.Environ(), workerVariable+"=says its memory")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := min(3<<29, isolate.DefaultMemory(2)) // a smaller machine has less
	if got := strings.TrimSpace(string(out)); got != fmt.Sprint(want) {
		t.Errorf("a worker has %s bytes, want %d", got, want)
	}
}

// controlGroup makes a control group for memory below that of this process, and returns it with
// the name of the file for its limit.
func controlGroup(t *testing.T) (group, limit string) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip("no control groups: " + err.Error())
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		root, limit := "", ""
		switch fields[1] {
		case "memory":
			root, limit = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case "":
			root, limit = "/sys/fs/cgroup", "memory.max"
		default:
			continue
		}
		group, err := os.MkdirTemp(filepath.Join(root, fields[2]), "spiced-test-")
		if err == nil {
			t.Cleanup(func() { _ = os.Remove(group) })
			return group, limit
		}
	}
	t.Skip("this process may not make control groups")
	return "", ""
}

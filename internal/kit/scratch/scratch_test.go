//go:build unix

package scratch

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const child = "SCRATCH_TEST_CHILD"

// TestMain is a process that makes a folder and waits, if a variable of the environment is set.
func TestMain(m *testing.M) {
	if os.Getenv(child) == "" {
		os.Exit(m.Run())
	}
	dir, err := New("test")
	if err != nil {
		panic(err)
	}
	fmt.Println(dir.Path)
	os.Stdin.Read(make([]byte, 1))
	dir.Remove()
}

// process starts a process that makes a folder. end lets it end, kill does not.
func process(t *testing.T) (path string, end, kill func()) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	path = strings.TrimSpace(line)
	write(t, filepath.Join(path, "of", "it"))
	return path, func() { in.Close(); cmd.Wait() }, func() { cmd.Process.Kill(); cmd.Wait() }
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestFoldersOfKilledProcessesAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	killed, _, kill := process(t)
	living, end, _ := process(t)
	own, err := New("test")
	if err != nil {
		t.Fatal(err)
	}
	kill()
	if got := Sweep(); !slices.Equal(got, []string{killed}) {
		t.Errorf("removed %q, want %s", got, killed)
	}
	if exists(killed) || !exists(filepath.Join(living, "of", "it")) || !exists(own.Path) {
		t.Error("another folder is gone")
	}
	own.Remove()
	end()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left over: %v %v", left, err)
	}
}

// The folder for temporary files is everybody's.
func TestWhatIsOfOthersStays(t *testing.T) {
	temp, elsewhere := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	write(t, filepath.Join(elsewhere, "file"))
	write(t, filepath.Join(temp, "spiced-state-1", "file")) // of a version without locks
	write(t, filepath.Join(temp, prefix+"file"))
	if err := os.Symlink(elsewhere, filepath.Join(temp, prefix+"link")); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		write(t, filepath.Join(temp, prefix+"theirs", "file"))
		if err := os.Chown(filepath.Join(temp, prefix+"theirs"), 12345, -1); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	removed := Sweep()
	after, err := os.ReadDir(temp)
	if err != nil || len(removed) > 0 || len(after) != len(before) || !exists(filepath.Join(elsewhere, "file")) {
		t.Errorf("removed %q: %d of %d are left, %v", removed, len(after), len(before), err)
	}
	// A link in a folder that is swept is removed, not what it leads to.
	left := filepath.Join(temp, prefix+"left")
	write(t, filepath.Join(left, "file"))
	if err := os.Symlink(elsewhere, filepath.Join(left, "link")); err != nil {
		t.Fatal(err)
	}
	if got := Sweep(); !slices.Equal(got, []string{left}) || !exists(filepath.Join(elsewhere, "file")) {
		t.Errorf("removed %q", got)
	}
}

// A new folder is never taken for a left one.
func TestSweepsSpareNewFolders(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	stop, swept := make(chan struct{}), make(chan []string)
	go func() {
		var all []string
		for {
			select {
			case <-stop:
				swept <- all
				return
			default:
				all = append(all, Sweep()...)
			}
		}
	}()
	for range 100 {
		dir, err := New("test")
		if err != nil {
			t.Fatal(err)
		}
		if !exists(dir.Path) {
			t.Error("it is gone")
		}
		dir.Remove()
	}
	close(stop)
	if all := <-swept; len(all) > 0 {
		t.Errorf("removed %q", all)
	}
}

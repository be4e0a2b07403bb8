//go:build unix

package rowindex

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// crashVariable makes the test's program one that updates the index in a folder until it is killed.
const crashVariable = "ROWINDEX_TEST_CRASH"

func TestMain(m *testing.M) {
	if folder := os.Getenv(crashVariable); folder != "" {
		fmt.Fprintln(os.Stderr, updateForever(folder))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

var crashColumns = []Column{{Name: "title", Words: true}, {Name: "body", Words: true, Model: "m", Dimensions: 3}}

// crashRecords are the rows of a version of the table. Each version adds rows and texts to the one
// before.
func crashRecords(version int) (list []record) {
	for id := 1; id < 120; id++ {
		if rng := rand.New(rand.NewPCG(uint64(id), uint64(version))); rng.IntN(8) == 0 {
			continue
		}
		r := randomRecords(rand.New(rand.NewPCG(uint64(id), uint64(version+id)/4)), 1)[0]
		r.id = id
		list = append(list, r)
	}
	return list
}

// updateForever makes the versions of the table after that of the index. It prints a dot for each row,
// and each version once it is committed.
func updateForever(folder string) error {
	s, damaged, err := Open(folder, crashColumns, "test")
	if err != nil || damaged != nil {
		return fmt.Errorf("%w, %w", err, damaged)
	}
	version := 0
	if ix := s.Current(); ix != nil {
		version, err = strconv.Atoi(ix.Version())
		ix.Release()
	}
	for err == nil {
		version++
		u, a := s.Update(), NewAnalyser(crashColumns)
		for _, r := range crashRecords(version) {
			if row := r.row(); !u.Known(row.Key, row.Hashes) && err == nil {
				err = u.Add(a.Analyse(row))
			}
			fmt.Println(".")
		}
		if err == nil {
			err = u.Commit(fmt.Sprint(version), time.Unix(int64(version), 0), Missing{})
		}
		fmt.Println(version)
	}
	return err
}

// TestCrash kills a process while it updates an index, at moments that no test chooses, among them
// those at which it writes files. Afterwards the index has every row of the last committed version, or
// of the version that was being written; before the first commit there is no index.
func TestCrash(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
	folder := t.TempDir()
	last, none := 0, 0
	for round := range 20 {
		if round == 5 { // from here on, of an index that is there
			for last < 20 {
				last = killed(t, folder, last, 2000)
			}
		} else {
			last = killed(t, folder, last, rng.IntN(300))
		}
		s, damaged, err := Open(folder, crashColumns, "test")
		if err != nil || damaged != nil {
			t.Fatalf("round %d: %v, damaged: %v", round, err, damaged)
		}
		ix := s.Current()
		if ix == nil {
			if last > 0 {
				t.Fatalf("round %d: version %d was committed, and there is no index", round, last)
			}
			none++
			s.Close()
			continue
		}
		version, err := strconv.Atoi(ix.Version())
		if err != nil || version != last && version != last+1 {
			t.Fatalf("round %d: version %q after %d was committed", round, ix.Version(), last)
		}
		records := crashRecords(version)
		fresh := open(t, t.TempDir(), crashColumns)
		load(t, fresh, records)
		want := fresh.Current()
		if ix.Rows() != len(records) || ix.Chunks() != want.Chunks() {
			t.Errorf("round %d: %d rows, want %d", round, ix.Rows(), len(records))
		}
		for range 20 {
			q := randomQuery(rng)
			if diff := cmp.Diff(answer(want.Search(q)), answer(ix.Search(q))); diff != "" {
				t.Errorf("round %d, version %d: %+v: %s", round, version, q, diff)
			}
		}
		want.Release()
		ix.Release()
		s.Close()
		last = version
		if round < 5 { // the first build once more
			if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
				t.Fatal(err)
			}
			last = 0
		}
	}
	t.Logf("%d times there was no index yet; version %d at the end", none, last)
}

// killed runs updates in a process and kills it after it printed some lines. It returns the last
// version that it reported as committed.
func killed(t *testing.T, folder string, last, lines int) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashVariable+"="+folder)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scan := bufio.NewScanner(out)
	for n := 0; scan.Scan(); n++ {
		if version, err := strconv.Atoi(scan.Text()); err == nil {
			last = version
		}
		if n == lines {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || failed.Len() > 0 {
		t.Fatalf("the process ended: %v %s", err, failed.String())
	}
	return last
}

// TestUnwritable makes the folder of an index one that cannot be written, as it is when the disk is
// full: the update fails, and the index from before answers.
func TestUnwritable(t *testing.T) {
	folder := t.TempDir() + "/index"
	s := open(t, folder, crashColumns)
	load(t, s, crashRecords(1))
	before := current(t, s)
	want := before.Search(Query{Text: "wing", Mode: Keyword, Limit: 10})
	if err := errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	u, a := s.Update(), NewAnalyser(crashColumns)
	for _, r := range crashRecords(2) {
		if err := u.Add(a.Analyse(r.row())); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.Commit("2", time.Unix(0, 0), Missing{}); err == nil {
		t.Fatal("an update was written into a file")
	}
	if diff := cmp.Diff(want, current(t, s).Search(Query{Text: "wing", Mode: Keyword, Limit: 10})); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	load(t, s, crashRecords(2))
	if n := current(t, s).Rows(); n != len(crashRecords(2)) {
		t.Errorf("%d rows once the folder can be written", n)
	}
}

// TestSearchWhileUpdating searches while updates replace the index: each answer is that of one
// version, and files are unmapped when no search uses them.
func TestSearchWhileUpdating(t *testing.T) {
	s := open(t, t.TempDir(), crashColumns)
	load(t, s, crashRecords(0))
	const versions = 40
	want := make([][]string, versions)
	queries := make([]Query, versions)
	for v := range want {
		fresh := open(t, t.TempDir(), crashColumns)
		load(t, fresh, crashRecords(v))
		queries[v] = randomQuery(rand.New(rand.NewPCG(uint64(v), 1)))
		want[v] = answer(current(t, fresh).Search(queries[0]))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for v := range versions {
			load(t, s, crashRecords(v))
		}
	}()
	searched := 0
	for ended := false; !ended || searched == 0; searched++ {
		select {
		case <-done:
			ended = true
		default:
		}
		ix := s.Current()
		got := answer(ix.Search(queries[0]))
		if !slices.ContainsFunc(want, func(w []string) bool { return slices.Equal(w, got) }) {
			t.Fatalf("an answer of no version: %v", got)
		}
		ix.Release()
	}
	t.Logf("%d searches", searched)
}

package usage

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/test/full"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// manual opens a recorder that flushes when a test calls flush.
func manual(t *testing.T, dir string, log *bytes.Buffer) *Recorder {
	t.Helper()
	r, err := Open(Options{
		Dir: dir, FlushEvery: 24 * time.Hour, Now: func() time.Time { return noon },
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func (r *Recorder) mustFlush(t *testing.T) {
	t.Helper()
	if err := r.flush(noon); err != nil {
		t.Fatal(err)
	}
}

// reported is what a recorder returns, without empty rows.
type reported struct {
	Calls    []Call
	Searches []Search
	Usage    []Usage
	Hits     []Hits
	Totals   []Totals
}

func report(r *Recorder) reported {
	return reported{r.Calls(), r.Searches(), r.Usage(), r.Hits(), []Totals{r.Totals("a"), r.Totals("b")}}
}

// loaded returns what a new process would return for the files.
func loaded(t *testing.T, dir string) reported {
	t.Helper()
	o, err := Options{Calls: 100, Searches: 100, Now: func() time.Time { return noon }}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	r := &Recorder{now: o.Now, state: newState(o, noon)}
	s := &store{dir: dir, log: slog.New(slog.DiscardHandler)}
	s.load(func(b batch) error { return r.state.restore(b, noon) })
	return report(r)
}

// recordSome records different calls over time.
func recordSome(r *Recorder, i int) {
	r.Search(Search{ID: fmt.Sprint(i), Caller: "x", Tools: []string{"a", "b"}})
	r.Call(Call{ID: fmt.Sprint(i), Tool: []string{"a", "b"}[i%2], Caller: fmt.Sprint(i % 3), OK: i%2 == 0, Latency: time.Duration(i) * time.Millisecond})
}

// journalOf records some batches, each flushed, and returns the folder's two files and
// what was reported after each batch.
func journalOf(t *testing.T, batches int) (snapshot, journal []byte, after []reported) {
	t.Helper()
	dir := t.TempDir()
	r := manual(t, dir, &bytes.Buffer{})
	recordSome(r, 100)
	r.store.stale = true // the first one is in the snapshot
	r.mustFlush(t)
	after = append(after, report(r))
	for i := range batches {
		recordSome(r, i)
		r.mustFlush(t)
		after = append(after, report(r))
	}
	return readAll(t, dir, snapshotName), readAll(t, dir, journalName), after
}

// same fails the test if two reports differ.
func same(t *testing.T, want, got any, format string, args ...any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%s (-want +got):\n%s", fmt.Sprintf(format, args...), cmp.Diff(want, got))
	}
}

func readAll(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeAll(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// cutStep is 1, a cut at every byte, except in a short test.
func cutStep() int {
	if !full.Test() {
		return 7
	}
	return 1
}

func TestJournalCutAnywhere(t *testing.T) {
	snapshot, journal, after := journalOf(t, 2)
	dir := t.TempDir()
	writeAll(t, dir, snapshotName, snapshot)
	for n := 0; n <= len(journal); n += cutStep() {
		writeAll(t, dir, journalName, journal[:n])
		// A record counts once its last byte is written, with or without the line feed.
		records := bytes.Count(append(journal[:n:n], journal[n:min(n+1, len(journal))]...), []byte("\n"))
		same(t, after[max(records-1, 0)], loaded(t, dir), "cut at byte %d of %d", n, len(journal))
	}
}

func TestSnapshotCutAnywhere(t *testing.T) {
	snapshot, journal, after := journalOf(t, 2)
	dir := t.TempDir()
	writeAll(t, dir, journalName, journal)
	all := after[len(after)-1]
	for n := 0; n <= len(snapshot); n += cutStep() {
		writeAll(t, dir, snapshotName, snapshot[:n])
		got := loaded(t, dir)
		if n >= len(snapshot)-1 {
			same(t, all, got, "whole snapshot")
			continue
		}
		// The content of the journal is restored in its last state, and never twice.
		same(t, all.Totals, got.Totals, "cut at byte %d", n)
		if len(got.Calls) != len(all.Calls)-1 {
			t.Fatalf("cut at byte %d: %d calls", n, len(got.Calls))
		}
		if n > 0 && !bytes.Equal(readAll(t, dir, snapshotName+setAside), snapshot[:n]) {
			t.Fatalf("cut at byte %d: it is not set aside", n)
		}
	}
}

func TestCrashBetweenSnapshotAndJournal(t *testing.T) {
	dir := t.TempDir()
	r := manual(t, dir, &bytes.Buffer{})
	for i := range 3 {
		recordSome(r, i)
		r.mustFlush(t)
	}
	oldJournal := readAll(t, dir, journalName)
	r.store.stale = true
	r.mustFlush(t)
	want := report(r)
	writeAll(t, dir, snapshotName+unfinished, []byte("half a snap"))
	for name, journal := range map[string][]byte{"of the old generation": oldJournal, "empty": nil, "half a head": readAll(t, dir, journalName)[:20]} {
		writeAll(t, dir, journalName, journal)
		same(t, want, loaded(t, dir), "journal %s", name)
	}
}

func TestDamageIsSetAside(t *testing.T) {
	snapshot, journal, after := journalOf(t, 4)
	lines := bytes.SplitAfter(journal, []byte("\n"))
	at := len(lines[0]) + len(lines[1]) + 30
	journal[at] ^= 1
	dir := t.TempDir()
	writeAll(t, dir, snapshotName, snapshot)
	writeAll(t, dir, journalName, journal)
	var log bytes.Buffer
	r := manual(t, dir, &log)
	same(t, after[1], report(r), "damaged in record 3")
	if !bytes.Equal(readAll(t, dir, journalName+setAside), journal) {
		t.Error("the damaged journal was not set aside")
	}
	if !strings.Contains(log.String(), "record 3: wrong checksum") || !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("log %s", log.String())
	}
}

func TestFilesOfAnotherVersionAreSetAside(t *testing.T) {
	dir := t.TempDir()
	record, err := appendRecord(nil, head{Format: 2, Generation: 1})
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, dir, snapshotName, record)
	var log bytes.Buffer
	manual(t, dir, &log)
	if !strings.Contains(log.String(), "format 2, generation 1: want format 1") {
		t.Errorf("log %s", log.String())
	}
	if !bytes.Equal(readAll(t, dir, snapshotName+setAside), record) {
		t.Error("it was not set aside")
	}
}

// TestPairsOfOtherFiles reads pairs that this package does not write so.
func TestPairsOfOtherFiles(t *testing.T) {
	now := noon
	at := func(query string, u Uses) row[PairKey, Uses] {
		return row[PairKey, Uses]{Key: PairKey{Tool: "a", Query: query}, Value: u}
	}
	read := func(rows ...row[PairKey, Uses]) (*Recorder, string) {
		dir := t.TempDir()
		file, err := appendRecord(nil, head{Format: format, Generation: 1, Since: now})
		for some := range slices.Chunk(rows, snapshotItems) {
			if err == nil {
				file, err = appendRecord(file, batch{Pairs: some})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		writeAll(t, dir, journalName, file)
		var log bytes.Buffer
		r := manual(t, dir, &log)
		r.Learn(true)
		return r, log.String()
	}
	for want, r := range map[string]row[PairKey, Uses]{
		`a query of 3 bytes with -1 uses`: at("far", Uses{Last: now, Count: -1}),
		`a query of 0 bytes with 1 uses`:  at("", Uses{Last: now, Count: 1}),
	} {
		if _, log := read(r); !strings.Contains(log, want) {
			t.Errorf("want %q: %s", want, log)
		}
	}

	r, _ := read(at("far", Uses{Last: now.AddDate(1000, 0, 0), Count: math.MaxInt64}))
	r.Search(Search{Query: "far", SessionID: "s", Tools: []string{"a"}})
	r.Call(Call{Tool: "a", OK: true, SessionID: "s"})
	if pairs, _ := r.Pairs(); len(pairs) != 1 || pairs[0].Count != math.MaxInt64 || pairs[0].Last.After(now) {
		t.Errorf("got %+v", pairs)
	}

	// Far beyond the limit; reading this took time in the third power of their number.
	var many []row[PairKey, Uses]
	for i := range 20_000 {
		many = append(many, at(fmt.Sprint("far ", i), Uses{Last: now, Count: 1}))
	}
	r, _ = read(many...)
	if pairs, _ := r.Pairs(); len(pairs) != MaxPairsOfTool {
		t.Errorf("%d pairs", len(pairs))
	}
}

func TestFullJournalGivesASnapshot(t *testing.T) {
	dir := t.TempDir()
	r := manual(t, dir, &bytes.Buffer{})
	r.store.limit = 4096
	snapshots := map[uint64]bool{}
	for i := range 50 {
		recordSome(r, i)
		r.mustFlush(t)
		snapshots[r.store.generation] = true
		if n := len(readAll(t, dir, journalName)); n > 4096 {
			t.Fatalf("a journal of %d bytes", n)
		}
		same(t, report(r), loaded(t, dir), "after %d", i)
	}
	if len(snapshots) < 3 || len(snapshots) > 25 {
		t.Errorf("%d snapshots", len(snapshots))
	}
}

func TestFilesForgetWithTheRetention(t *testing.T) {
	dir := t.TempDir()
	r := manual(t, dir, &bytes.Buffer{})
	r.Call(Call{ID: "secret", Tool: "a"})
	r.mustFlush(t)
	if err := r.flush(noon.Add(9 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{snapshotName, journalName} {
		if bytes.Contains(readAll(t, dir, name), []byte("secret")) {
			t.Errorf("%s holds a call beyond its retention", name)
		}
	}
}

func TestFailedWritesAreMadeUpFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "usage")
	var log bytes.Buffer
	r := manual(t, dir, &log)
	recordSome(r, 1)
	r.store.journal.Close() // the write fails
	r.tick(noon)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	recordSome(r, 2)
	r.tick(noon.Add(48 * time.Hour)) // so does the snapshot
	r.tick(noon.Add(48 * time.Hour)) // too early for another attempt
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || r.Fault() == nil {
		t.Errorf("%d warnings, fault %v:\n%s", n, r.Fault(), log.String())
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.tick(noon.Add(72 * time.Hour))
	if r.pause != 0 || r.store.stale || r.Fault() != nil {
		t.Fatalf("it did not recover: %s", log.String())
	}
	same(t, report(r).Totals, loaded(t, dir).Totals, "after the recovery")
}

func TestKilled(t *testing.T) {
	for range 3 {
		dir := t.TempDir()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childDir+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 50 {
			lines.Scan()
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		var flushed int64
		for ok := true; ok; ok = lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "%d calls\n", &flushed); err != nil {
				break
			}
		}
		child.Wait()
		r, err := Open(Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		n := r.Totals("a").Calls
		if flushed == 0 || n < flushed || n > flushed+2*childCalls {
			t.Errorf("%d calls are left of the %d that were flushed", n, flushed)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

const childCalls = 7

// recordUntilKilled prints how many calls are in the files.
func recordUntilKilled(dir string) {
	r, err := Open(Options{Dir: dir, FlushEvery: 24 * time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	r.store.limit = 20_000 // some snapshots too
	for n := childCalls; ; n += childCalls {
		for range childCalls {
			r.Call(Call{Tool: "a", OK: true})
		}
		if err := r.flush(time.Now()); err != nil {
			fmt.Println(err)
			return
		}
		if _, err := fmt.Println(n, "calls"); err != nil {
			return
		}
	}
}

func TestTidyText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain", "plain"},
		{"tab\tnew\nli", "tab new li"},
		{"größe", "größe"},
		{"\x1b[31m", "\uFFFD[31m"},
		{"a\xffb", "a\uFFFDb"},
		{"\u202eabc", "\uFFFDabc"},
		{"a\u00a0b", "a b"},
		{"1234567890", "1234567890"},
		{"12345678901", "1234567…"},
		{"ääääää", "äää…"},
		{"\x00\x00\x00\x00", "\uFFFD\uFFFD…"},
	} {
		if got := tidyText(c.text, 10); got != c.want {
			t.Errorf("tidyText(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestBucketsJoin(t *testing.T) {
	for i := range latencyBuckets {
		low, next := lowerBound(i), lowerBound(i+1)
		if low >= next || bucketOf(low) != i || bucketOf(next-1) != i {
			t.Errorf("bucket %d holds %s to %s, but they are in %d and %d", i, low, next, bucketOf(low), bucketOf(next-1))
		}
	}
	if n := bucketOf(1 << 62); n != latencyBuckets-1 {
		t.Errorf("a century is in bucket %d", n)
	}
}

func TestRecordsThatMakeNoSenseAreRefused(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for payload, want := range map[string]string{
		`{"usage":[{"k":{"tool":"a"},"v":{"calls":-1}}]}`:                `usage of "a": count -1: want 0 or more`,
		`{"tools":[{"k":"a","v":{"calls":1,"failed":2}}]}`:               `totals of "a": 2 errors in 1 calls`,
		`{"tools":[{"k":"a","v":{"calls":1,"shortest":3,"longest":2}}]}`: `1 calls of 3ns to 2ns are impossible`,
		`{"tools":[{"k":"a","v":{"calls":1,"latencies":[1]}}]}`:          "histogram of 1 numbers",
		`{"tools":[{"k":"a","v":{"calls":1,"latencies":[48,1]}}]}`:       "histogram bucket 48: want 0 to 47",
		`{"tools":[{"k":"a","v":{"calls":1,"latencies":"x"}}]}`:          "cannot unmarshal",
		`{"models":[{"k":{"model":"m"},"v":{"chats":1,"failed":2}}]}`:    `chats with "m": 2 of 1 chats, of 0s, did not succeed`,
		`{"models":[{"k":{"model":"m"},"v":{"tokens":{"input":-1}}}]}`:   `chats with "m": count -1: want 0 or more`,
		`{"calls":[null]}`: "a call or search is null",
		`{"calls":`:        "unexpected end",
	} {
		st := newState(o, noon)
		err := decodeBatch([]byte(payload), st.restoreAt(noon))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", payload, err, want)
		}
		if len(st.usage.rows)+len(st.tools.rows) > 0 {
			t.Errorf("%s: some of it was used", payload)
		}
	}
}

func TestToolsAreBounded(t *testing.T) {
	r := manual(t, t.TempDir(), &bytes.Buffer{})
	for i := range MaxTools + 10 {
		r.Call(Call{Tool: fmt.Sprint("tool", i), OK: true})
	}
	if n := len(r.state.tools.rows); n != MaxTools+1 {
		t.Errorf("%d tools", n)
	}
	if n := r.Totals(Other).Calls; n != 10 {
		t.Errorf("%d calls of other tools", n)
	}
}

// TestBatchTooLargeForTheJournal flushes more at once than a journal, or a record, may
// hold.
func TestBatchTooLargeForTheJournal(t *testing.T) {
	dir := t.TempDir()
	r := manual(t, dir, &bytes.Buffer{})
	r.store.limit = 4096
	for i := range 100 {
		recordSome(r, i)
	}
	r.mustFlush(t)
	if n := r.store.generation; n != 2 {
		t.Errorf("generation %d, want a second snapshot", n)
	}
	same(t, report(r).Totals, loaded(t, dir).Totals, "after the flood")
	r.store.limit = maxJournal
	for i := range maxChanges + 1 {
		r.Call(Call{Tool: "a", Caller: fmt.Sprint("caller", i)})
	}
	r.mustFlush(t)
	if n := r.store.generation; n != 3 {
		t.Errorf("generation %d, want a snapshot for %d callers", n, maxChanges)
	}
	same(t, report(r).Totals, loaded(t, dir).Totals, "after many callers")
}

// FuzzLoad reads any file, and any JSON with a valid checksum.
func FuzzLoad(f *testing.F) {
	f.Add([]byte("00000000 {}\n"), []byte(`{"usage":[{"k":{"tool":"a","day":20000},"v":{"calls":1,"latencies":[3,1]}}],"calls":[{"tool":"a"}],"searches":[null]}`))
	f.Add([]byte{}, []byte(`{"tools":[{"k":"a","v":{"calls":-1,"returned":9}}],"hits":[{"k":{"tool":"\u0000","day":-5}}],"searched":[{"k":1}]}`))
	o, err := Options{Calls: 4, Searches: 4, Keys: 4}.withDefaults()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, file, payload []byte) {
		st := newState(o, noon)
		take := func(b batch) error { return st.restore(b, noon) }
		readFile(bytes.NewReader(file), 0, take)
		if decodeBatch(payload, take) != nil {
			return
		}
		st.tidy(noon)
		r := &Recorder{now: func() time.Time { return noon }, state: st}
		r.Call(Call{Tool: "a", Caller: "x"})
		r.Search(Search{Tools: []string{"a"}, Caller: "x"})
		report(r)
		// What was restored can be written and read again.
		for _, b := range r.everything() {
			record, err := appendRecord(nil, b)
			if err != nil {
				t.Fatal(err)
			}
			if payload, err := disk.LinePayload(bytes.TrimSuffix(record, []byte("\n"))); err != nil {
				t.Fatal(err)
			} else if err := decodeBatch(payload, newState(o, noon).restoreAt(noon)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func (s *state) restoreAt(now time.Time) func(batch) error {
	return func(b batch) error { return s.restore(b, now) }
}

// TestNothingIsKeptForNoFile: without a folder, what changed is not remembered to be written.
func TestNothingIsKeptForNoFile(t *testing.T) {
	r := manual(t, "", &bytes.Buffer{})
	r.Learn(true)
	for i := range 3 * MaxPairsOfTool {
		r.Search(Search{Query: fmt.Sprint("query ", i), SessionID: "s", Tools: []string{"a"}})
		r.Call(Call{Tool: "a", OK: true, SessionID: "s"})
	}
	r.mustFlush(t)
	if n := r.state.changedRows(); n != 0 {
		t.Errorf("%d rows wait for a file", n)
	}
	if pairs, _ := r.Pairs(); len(pairs) != MaxPairsOfTool {
		t.Errorf("%d pairs", len(pairs))
	}
}

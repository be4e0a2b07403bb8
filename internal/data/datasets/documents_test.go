package datasets

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/documents"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/test/doctest"
)

// readers read documents in this process, and record which.
type readers struct {
	mu     sync.Mutex
	names  []string
	opened int
	closed int
	err    error
}

func (r *readers) open(time.Duration) (documents.Workers, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened++
	return r, r.err
}

func (r *readers) Read(_ context.Context, name string, data []byte, l documents.Options) (documents.Document, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
	return documents.Read(name, data, l), nil
}

func (r *readers) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed++
}

// read returns what was read since the last call.
func (r *readers) read() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.names)
	all := strings.Join(r.names, " ")
	r.names = nil
	return all
}

// newReadingWorld is a world that reads documents.
func newReadingWorld(t *testing.T) (*world, *readers) {
	t.Helper()
	w, r := newWorld(t), &readers{}
	w.restart(func(o *Options) { o.Documents = r.open })
	return w, r
}

func TestDocuments(t *testing.T) {
	w, _ := newReadingWorld(t)
	w.file("docs/a.md", "---\ntitle: Winter\n---\n# De-icing\n")
	w.file("docs/b/two.TXT", "text\n")
	w.file("docs/b/c/page.html", "<title>Page</title><p>Gate <b>4</b>")
	w.file("docs/fleet.xlsx", string(doctest.Book(t, `<row><c t="inlineStr"><is><t>seats</t></is></c></row><row><c><v>4</v></c></row>`)))
	w.file("docs/staff.csv", "name,hours\nAda,80\n")
	w.file("docs/bad.docx", "no archive")
	w.file("docs/.hidden.md", "no")
	w.file("docs/~$open.docx", "no")
	w.file("docs/x[1].md", "odd")
	for _, acceleration := range []string{"", ", acceleration: {enabled: true}"} {
		w.ok("datasets: [{from: 'file:docs/', name: docs, params: {file_format: document}" + acceleration + "}]\n")
		w.want("SELECT id, folder, name, content FROM docs ORDER BY id", "a.md||a.md|# De-icing\n, b/c/page.html|b/c|page.html|Gate **4**, "+
			"b/two.TXT|b|two.TXT|text\n, bad.docx||bad.docx|NULL, fleet.xlsx||fleet.xlsx|## Fleet\n\n| seats |\n| --- |\n| 4 |, "+
			"staff.csv||staff.csv|name,hours\nAda,80\n, x[1].md||x[1].md|odd")
		w.want("SELECT metadata->>'title', length(metadata->>'sha256'), (metadata->>'size')::INT FROM docs WHERE id = 'a.md'", "Winter|64|33")
		w.want("SELECT metadata->>'error' FROM docs WHERE id = 'bad.docx'", "the file is not a docx: it is no ZIP archive")
		w.want("SELECT sum((data->0->>'seats')::INT), sum((data->0->>'hours')::INT) FROM docs", "4|80")
		w.want("SELECT modified > '2020-01-01', typeof(modified), typeof(metadata), typeof(data) FROM docs WHERE name = 'a.md'",
			"true|TIMESTAMP WITH TIME ZONE|JSON|JSON")
	}
}

func TestDocumentFormats(t *testing.T) {
	w, _ := newReadingWorld(t)
	w.file("docs/a.md", "# A")
	w.file("docs/b.txt", "B")
	w.file("docs/c.csv", "c\n1\n")
	w.file("docs/d.png", "D")
	w.file("only/a.md", "# A")
	w.file("only/b.HTML", "<p>B")
	w.file("raw", "text")
	for _, c := range []struct{ name, from, params, sql, want string }{
		{"one format", "docs/", "{file_format: md}", "SELECT id FROM t", "a.md"},
		{"every format", "docs/", "{file_format: document}", "SELECT id FROM t ORDER BY 1", "a.md, b.txt, c.csv"},
		{"tables first", "docs/", "{}", "SELECT * FROM t", "1"},
		{"documents alone", "only/", "{}", "SELECT id, content FROM t ORDER BY 1", "a.md|# A, b.HTML|B"},
		{"one file", "docs/a.md", "{}", "SELECT id, folder FROM t", "a.md|"},
		{"no extension", "raw", "{file_format: txt}", "SELECT id, content FROM t", "raw|text"},
		{"glob", "docs/*.md", "{}", "SELECT id FROM t", "a.md"},
		{"deep glob", "**/*.md", "{}", "SELECT id, folder FROM t ORDER BY 1", "docs/a.md|docs, only/a.md|only"},
		{"extension", "docs/", "{file_format: document, file_extension: txt}", "SELECT id FROM t", "b.txt"},
		{
			"limits", "docs/", "{file_format: md, document_max_content_size: 1, document_max_file_size: 1KiB}",
			"SELECT content, metadata->>'truncated' FROM t", "#|true",
		},
		{
			"size", "docs/", "{file_format: md, max_file_size: 2}",
			"SELECT content, metadata->>'error' FROM t", "NULL|the file has 3 bytes; params.document_max_file_size allows 2",
		},
	} {
		w.t.Run(c.name, func(t *testing.T) {
			w.t = t
			w.reload("datasets: [{name: t, from: 'file:" + c.from + "', params: " + c.params + "}]\n")
			w.want(c.sql, c.want)
		})
	}
	w.t = t
	for params, want := range map[string]string{
		"{file_format: document, header: true}":        "params.header is not an option of document files",
		"{file_format: md, document_max_pages: 0}":     "0 is not a number from 1 to 100000",
		"{file_format: md, document_timeout: 1h}":      "1h0m0s is not a duration from 1s to 10m",
		"{file_format: md, document_max_file_size: x}": "a size such as",
		"{file_format: pdff}":                          `did you mean "pdf"?`,
	} {
		if got := w.reload("datasets: [{name: t, from: 'file:docs/', params: " + params + "}]\n"); !strings.Contains(got.Error(), want) {
			t.Errorf("%s: %v, want %q", params, got, want)
		}
	}
}

// What is wrong with files is a warning of the dataset, and not its failure.
func TestDocumentRemarks(t *testing.T) {
	w, _ := newReadingWorld(t)
	w.file("docs/a.md", "# A")
	w.file("docs/b.pdf", "no")
	w.file("docs/c.png", "x")
	got := w.reload("datasets: [{name: t, from: 'file:docs/', params: {file_format: document}}]\n").Error()
	for _, want := range []string{
		"warning: dataset t: the folder has 1 file of other formats, which spiced does not read: .png",
		"warning: dataset t: 1 document cannot be read: b.pdf: the file is not a PDF",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// link makes a symbolic link in the folder of the world.
func (w *world) link(target, name string) {
	w.t.Helper()
	if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// A file whose name is not UTF-8 is a row with an error, and the others are read.
func TestDocumentNamesThatAreNotUTF8(t *testing.T) {
	w, r := newReadingWorld(t)
	w.file("docs/a.md", "# A")
	w.file("docs/bad\xff.md", "secret")
	w.file("docs/bad\xfe.md", "secret")
	w.file("docs/bad\uFFFD.md", "good")
	w.file("docs/fold\xe9/x.md", "secret")
	w.file("docs/x[1].md", "odd")
	w.file("docs/photo\xff.png", "x")
	w.file("docs/photo.p\xff", "x")
	const rows = "a.md|a.md||# A, bad\uFFFD (2).md|bad\uFFFD (2).md||NULL, bad\uFFFD (3).md|bad\uFFFD (3).md||NULL, " +
		"bad\uFFFD.md|bad\uFFFD.md||good, fold\uFFFD/x.md|x.md|fold\uFFFD|NULL, x[1].md|x[1].md||odd"
	for _, from := range []string{
		"'file:docs/', params: {file_format: document}", "'file:docs/'", "'file:docs/**/*.md'", "'file:docs/**/*.[!p]*'",
	} {
		got := w.reload("datasets: [{name: t, from: " + from + "}]\n")
		w.want("SELECT id, name, folder, content FROM t ORDER BY id", rows)
		w.want("SELECT count(*), count(DISTINCT path) FROM t WHERE metadata->>'error' = 'the path is not UTF-8; rename the file or its folder'", "3|3")
		if want := "warning: dataset t: 3 documents cannot be read: bad\uFFFD (2).md: the path is not UTF-8"; !strings.Contains(got.Error(), want) {
			t.Errorf("%s: no %q in %s", from, want, got)
		}
		if got := r.read(); strings.Contains(got, "(2)") {
			t.Errorf("%s: read %s", from, got)
		}
	}
}

// A symbolic link is read if it leads to a file of the data roots; else it is a row with an error.
func TestDocumentLinks(t *testing.T) {
	w, r := newReadingWorld(t)
	outside := filepath.Join(t.TempDir(), "outside.md")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.file("docs/a.md", "# A")
	w.file("other/o.md", "# O")
	w.file("tables/t.csv", "n\n1\n")
	w.link("../other/o.md", "docs/good.md")
	w.link(outside, "docs/link.md")
	w.link("nowhere", "docs/dangling.md")
	w.link("loop.md", "docs/loop.md")
	w.link("../other", "docs/folder")
	w.link(filepath.Dir(outside), "docs/out")
	w.link(outside, "tables/u.csv")
	if err := syscall.Mkfifo(filepath.Join(w.dir, "docs/pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	const (
		escapes = "|NULL|it leads through a symbolic link outside of the data roots"
		rows    = "a.md|# A|NULL, dangling.md|NULL|it is a symbolic link to a file that does not exist, good.md|# O|NULL, " +
			"link.md" + escapes + ", loop.md|NULL|it is a symbolic link that leads back to itself, pipe.md|NULL|it is not a regular file"
	)
	for from, want := range map[string]string{
		"'file:docs/', params: {file_format: document}": rows,
		"'file:docs/'":        rows,
		"'file:docs/*.md'":    rows,
		"'file:docs/**/*.md'": rows,
		"'file:docs/*/*.md'":  "folder/o.md|# O|NULL, out" + escapes,
	} {
		got := w.reload("datasets: [{name: t, from: " + from + "}]\n")
		w.want("SELECT id, content, metadata->>'error' FROM t ORDER BY id", want)
		if strings.Contains(got.Error(), outside) {
			t.Errorf("%s: the target is shown: %s", from, got)
		}
		if read := r.read(); strings.Contains(read, "link.md") || strings.Contains(read, "outside") {
			t.Errorf("%s: read %s", from, read)
		}
	}
	for from, want := range map[string]string{
		"tables/":      "leads through a symbolic link",
		"tables/*.csv": "leads through a symbolic link",
		"docs/link.md": "leads through a symbolic link",
	} {
		if got := w.reload("datasets: [{name: t, from: 'file:" + from + "'}]\n").Error(); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in %s", from, want, got)
		}
	}
	// A link that is corrected is read by the next load.
	w.reload("datasets: [{name: t, from: 'file:docs/*.md', acceleration: {enabled: true}}]\n")
	if err := os.Remove(filepath.Join(w.dir, "docs/dangling.md")); err != nil {
		t.Fatal(err)
	}
	w.link("a.md", "docs/dangling.md")
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	w.want("SELECT content FROM t WHERE id = 'dangling.md'", "# A")
}

// Files in hidden folders are hidden, unless the dataset names the folder.
func TestHiddenDocuments(t *testing.T) {
	w, _ := newReadingWorld(t)
	w.file("docs/a.md", "# A")
	w.file("docs/.git/README.md", "no")
	w.file("docs/b/.hidden/h.md", "no")
	w.file("docs/.dot.md", "dot")
	w.file("docs/.git/photo.png", "no")
	w.link("nowhere", "docs/.lock.md")
	for from, want := range map[string]string{
		"'file:docs/', params: {file_format: document}": "a.md",
		"'file:docs/'":                                 "a.md",
		"'file:docs/**/*.md'":                          "a.md",
		"'file:docs/.git/'":                            "README.md",
		"'file:docs/b/.hidden/**/*.md'":                "h.md",
		"'file:docs/*/.hidden/*.md'":                   "b/.hidden/h.md",
		"'file:docs/.*.md', params: {file_format: md}": ".dot.md, .lock.md",
		"'file:docs/.dot.md'":                          ".dot.md",
	} {
		got := w.reload("datasets: [{name: t, from: " + from + "}]\n")
		w.want("SELECT id FROM t ORDER BY id", want)
		if from == "'file:docs/', params: {file_format: document}" && len(got) > 0 {
			t.Errorf("remarks: %s", got)
		}
	}
	for from, want := range map[string]string{
		"docs/b/":        "has hidden documents only",
		"docs/b/**/*.md": "no file matches",
	} {
		if got := w.reload("datasets: [{name: t, from: 'file:" + from + "'}]\n").Error(); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in %s", from, want, got)
		}
	}
}

// A folder that cannot be read, here because its path is too long, is a row with an error.
func TestDocumentFoldersThatCannotBeRead(t *testing.T) {
	w, _ := newReadingWorld(t)
	w.file("docs/a.md", "# A")
	dir, err := os.OpenRoot(filepath.Join(w.dir, "docs"))
	for range 20 {
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		name := strings.Repeat("d", 250)
		if err := dir.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		dir, err = dir.OpenRoot(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.WriteFile("b.md", []byte("# B"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"'file:docs/', params: {file_format: document}", "'file:docs/'", "'file:docs/**/*.md'"} {
		got := w.reload("datasets: [{name: t, from: " + from + "}]\n")
		w.want("SELECT right(id, 4), content, metadata->>'error' FROM t ORDER BY id",
			"a.md|# A|NULL, ddd/|NULL|the folder cannot be read: file name too long")
		if strings.Contains(got.Error(), "other formats") {
			t.Errorf("%s: remarks: %s", from, got)
		}
	}
}

// Only what has changed is read again, also after a restart, and moved files are known by
// their content.
func TestDocumentsAreReadOnce(t *testing.T) {
	w, r := newReadingWorld(t)
	const pod = "datasets: [{name: docs, from: 'file:docs/', params: {file_format: document}, acceleration: {enabled: true}}]\n"
	w.file("docs/a.md", "# A")
	w.file("docs/b.md", "# B")
	w.file("docs/bad.pdf", "no")
	w.reload(pod)
	step := func(what, want, rows string) {
		t.Helper()
		if what != "restart" {
			if err := w.refresh("docs", refresh.Override{}); err != nil {
				t.Fatal(what, err)
			}
		}
		if got := r.read(); got != want {
			t.Errorf("%s: read %q, want %q", what, got, want)
		}
		w.want("SELECT id, content FROM docs ORDER BY id", rows)
	}
	if got := r.read(); got != "a.md b.md bad.pdf" {
		t.Errorf("first: %q", got)
	}
	step("nothing", "", "a.md|# A, b.md|# B, bad.pdf|NULL")
	w.file("docs/b.md", "# B2")
	step("one changed", "b.md", "a.md|# A, b.md|# B2, bad.pdf|NULL")
	info, err := os.Stat(filepath.Join(w.dir, "docs/b.md"))
	if err != nil {
		t.Fatal(err)
	}
	soon := info.ModTime().Truncate(time.Second).Add(time.Duration(info.ModTime().Nanosecond()+500_000_000) % time.Second)
	w.file("docs/b.md", "# B3")
	if err := os.Chtimes(filepath.Join(w.dir, "docs/b.md"), soon, soon); err != nil {
		t.Fatal(err)
	}
	step("same size and second", "b.md", "a.md|# A, b.md|# B3, bad.pdf|NULL")
	if err := os.Rename(filepath.Join(w.dir, "docs/a.md"), filepath.Join(w.dir, "docs/z.md")); err != nil {
		t.Fatal(err)
	}
	step("moved", "", "b.md|# B3, bad.pdf|NULL, z.md|# A")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(w.dir, "docs/z.md"), later, later); err != nil {
		t.Fatal(err)
	}
	step("touched", "", "b.md|# B3, bad.pdf|NULL, z.md|# A")
	if err := os.Remove(filepath.Join(w.dir, "docs/b.md")); err != nil {
		t.Fatal(err)
	}
	step("removed", "", "bad.pdf|NULL, z.md|# A")
	w.restart(func(o *Options) { o.Documents = r.open })
	w.reload(pod)
	step("restart", "", "bad.pdf|NULL, z.md|# A")
	w.reload(strings.Replace(pod, "file_format: document", "file_format: document, document_max_content_size: 1", 1))
	step("restart", "bad.pdf z.md", "bad.pdf|NULL, z.md|#")
	if r.opened != r.closed {
		t.Errorf("%d workers opened, %d closed", r.opened, r.closed)
	}
}

// Workers that do not start are a fault of the dataset, which may pass, and not of its documents.
func TestDocumentsWithoutWorkers(t *testing.T) {
	w, r := newReadingWorld(t)
	w.file("docs/a.md", "# A")
	r.err = errors.New("no processes")
	const pod = "datasets: [{name: docs, from: 'file:docs/'}]\n"
	if got := w.reload(pod).Error(); !strings.Contains(got, "the workers that read documents failed: no processes") {
		t.Errorf("got %s", got)
	}
	r.err = nil
	w.reload(pod)
	w.want("SELECT content FROM docs", "# A")
}

func TestDocumentsOverHTTP(t *testing.T) {
	w, _ := newReadingWorld(t)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = rw.Write([]byte("<title>Rules</title><p>Gate 4"))
	}))
	defer server.Close()
	w.reload("datasets: [{name: t, from: '" + server.URL + "/rules/winter?key=s3cret', params: {file_format: html}}]\n")
	w.want("SELECT id, folder, content, metadata->>'title' FROM t", "winter||Gate 4|Rules")
}

// Row filters and masks hold for documents.
func TestDocumentPolicies(t *testing.T) {
	w, _ := newReadingWorld(t)
	w.file("docs/open/a.md", "# A")
	w.file("docs/board/b.md", "# B")
	w.reload("datasets:\n  - name: t\n    from: file:docs/\n    row_filter: folder = 'open'\n    column_mask: {content: \"'hidden'\"}\n")
	w.want("SELECT id, content FROM t", "open/a.md|hidden")
}

// Objects are documents as files are, and are read again only when they have changed.
func TestDocumentsInObjectStores(t *testing.T) {
	w, s := newS3(t)
	r := &readers{}
	w.restart(func(o *Options) { o.Documents = r.open })
	s.Put("lake", "docs/a.md", "# A")
	s.Put("lake", "docs/b/c.HTML", "<p>C")
	s.Put("lake", "docs/b/photo.png", "x")
	s.Put("lake", "docs/.git/README.md", "no")
	s.Put("lake", "docs/.git/photo.gif", "no")
	pod := "datasets:\n- {name: docs, acceleration: {enabled: true}, from: 's3://lake/docs/', " + s3Params(s, "file_format", "document") + "}\n" +
		"- {name: globbed, from: 's3://lake/docs/**/*.md', " + s3Params(s) + "}\n" +
		"- {name: one, from: 's3://lake/docs/b/c.HTML', " + s3Params(s) + "}\n"
	w.reload(pod)
	w.want("SELECT id, folder, content, modified > '2020-01-01' FROM docs ORDER BY id", "a.md||# A|true, b/c.HTML|b|C|true")
	w.want("SELECT id FROM globbed", "a.md")
	w.want("SELECT id, folder FROM one", "c.HTML|")
	if got := r.read(); got != "a.md a.md b/c.HTML c.HTML" {
		t.Errorf("read %q", got)
	}
	s.Put("lake", "docs/a.md", "# A2")
	if err := w.refresh("docs", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	if got := r.read(); got != "a.md" {
		t.Errorf("read again: %q", got)
	}
	w.want("SELECT content FROM docs WHERE id = 'a.md'", "# A2")
}

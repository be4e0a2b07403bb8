package fileformat

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/data/documents"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Documents are files of text for people. A dataset of them has a row for each file, with its
// text. DuckDB lists and fetches the files, as it does those of other formats, wherever they
// are; workers read them; the rows are gathered in a file of the cache, which DuckDB reads.
// The next load takes the rows of unchanged files from that file.

// readsDocuments is the reader of documents, where other formats have a function of DuckDB.
const readsDocuments = "documents"

var documentOptions = map[string]spicepod.ParamType{
	"max_file_size": spicepod.ParamSize, "max_content_size": spicepod.ParamSize, "max_pages": spicepod.ParamInt,
	"timeout": spicepod.ParamDuration,
}

// documentFormats are the formats of documents, and one of all of them.
var documentFormats = func() (all []*format) {
	every := &format{name: "document"}
	for _, f := range documents.Formats {
		every.extensions = append(every.extensions, f.Extensions...)
		if formatNames[f.Name] == nil { // csv and tsv are tables, unless they are among documents
			all = append(all, &format{name: f.Name, extensions: f.Extensions})
		}
	}
	all = append(all, every)
	for _, f := range all {
		f.reader, f.prefixes, f.options = readsDocuments, []string{"document_"}, documentOptions
		formatNames[f.name] = f
	}
	return all
}()

// Columns of documents.
const documentColumns = `{id: 'VARCHAR', path: 'VARCHAR', name: 'VARCHAR', folder: 'VARCHAR', content: 'VARCHAR', ` +
	`metadata: 'JSON', data: 'JSON', modified: 'TIMESTAMP WITH TIME ZONE'}`

// documentLimits are the params of documents.
type documentLimits struct {
	documents.Options
	File    int64
	Timeout time.Duration
}

// Bounds of the params of documents.
const (
	defaultDocumentTime = 30 * time.Second
	maxDocumentTime     = 10 * time.Minute
	maxDocumentFile     = 256 << 20
	maxDocumentPages    = 100_000
)

// documentLimits reads the params.
func (r *Reader) documentLimits(f *format) (l documentLimits, err error) {
	l.Options = documents.Options{Format: f.name, Content: documents.MaxContent, Pages: documents.MaxPages}
	l.File, l.Timeout = documents.MaxFile, defaultDocumentTime
	own := spicepod.ParamNames(r.own)
	for key := range r.params {
		if slices.Contains(own, key) {
			continue
		}
		name, unknown := f.optionName(key, own)
		if unknown != nil {
			return l, unknown
		}
		value, err := r.params.Value(key, f.options[name])
		if err != nil {
			return l, err
		}
		var n, least, most float64
		unit := ""
		switch v := value.(type) {
		case spicepod.Size:
			n, least, most, unit = float64(v), 1, maxDocumentFile, "a size up to 256MiB"
			if l.File = int64(v); name == "max_content_size" {
				l.File = documents.MaxFile
				l.Content, most, unit = int(min(v, math.MaxInt32)), documents.MaxContent, "a size up to 4MiB"
			}
		case int:
			l.Pages, n, least, most, unit = v, float64(v), 1, maxDocumentPages, "a number from 1 to 100000"
		case time.Duration:
			l.Timeout, n, least, most, unit = v, v.Seconds(), 1, maxDocumentTime.Seconds(), "a duration from 1s to 10m"
		}
		if n < least || n > most {
			return l, fault.New("params."+key, "write "+unit, "%v is not %s", value, unit)
		}
	}
	return l, nil
}

// DocumentFile is a file of the list.
type DocumentFile struct {
	File     string  `json:"file"` // for DuckDB
	Size     int64   `json:"size"`
	Modified float64 `json:"modified"` // microseconds since 1970
	Error    string  `json:"-"`        // why the file is not read
}

// documentRow is a row as it is kept. Source is how the next load knows the file again.
type documentRow struct {
	ID       string             `json:"id"`
	Path     string             `json:"path"`
	Name     string             `json:"name"`
	Folder   string             `json:"folder"`
	Content  *string            `json:"content"`
	Metadata documents.Metadata `json:"metadata"`
	Data     json.RawMessage    `json:"data,omitempty"`
	Modified time.Time          `json:"modified"`
	Source   DocumentFile       `json:"source"`
}

// openDocuments gathers the rows of documents.
func (r *Reader) openDocuments(ctx context.Context, h source.Host, f *format, found Files) (*source.Opened, error) {
	limits, err := r.documentLimits(f)
	if err != nil {
		return nil, err
	}
	if h.Documents == nil {
		return nil, fault.New("from", "", "documents are read in worker processes, which this program does not start")
	}
	files, err := listDocuments(ctx, h.DB, found)
	if err != nil {
		return nil, err
	}
	g := &gathering{Host: h, limits: limits, found: found, name: r.name}
	key := fetch.Key("documents", documents.Version, r.shown, f.name, limits, found.Base, found.Patterns)
	file, err := h.Cache.Update(ctx, key, r.shown, func(have *fetch.Entry) (*fetch.Entry, error) {
		return g.gather(ctx, key, files, have)
	})
	if err != nil {
		return nil, err
	}
	opened, err := g.reads(ctx, file)
	if err != nil {
		resource.Release(file.Resource)
		return nil, err
	}
	opened.Format, opened.Stale, opened.Resources = f.name, file.Stale, []*resource.Resource{file.Resource}
	return opened, nil
}

// listDocuments returns the files in the order of their paths.
func listDocuments(ctx context.Context, db *engine.DB, found Files) (files []DocumentFile, err error) {
	if found.Listed != nil {
		return found.Listed, nil
	}
	texts, err := tables.Texts(ctx, db, "SELECT to_json({file: filename, size: size, modified: epoch_us(last_modified)}) "+
		"FROM read_blob("+literalList(found.Patterns)+") ORDER BY filename")
	if err != nil {
		return nil, fault.FromDuckDB(err)
	}
	for _, text := range texts {
		var f DocumentFile
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			return nil, err
		}
		if !hidden(found.Base, f.File) {
			files = append(files, f)
		}
	}
	return files, nil
}

// Hidden reports whether a file or a folder is one of a system, an editor or Office, which locks
// documents with files such as ~$report.docx, by its name.
func Hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~$")
}

// hidden reports whether a file is hidden or in a hidden folder below the base. One without a
// base was named by the user.
func hidden(base, file string) bool {
	rest, below := strings.CutPrefix(file, base)
	return base != "" && below && slices.ContainsFunc(strings.Split(rest, "/"), Hidden)
}

// gathering is a load of documents.
type gathering struct {
	source.Host
	limits documentLimits
	found  Files
	name   string // of the dataset
}

// atOnce is how many files are fetched and read at once. The workers are fewer on small machines.
const atOnce = 4

// gather writes the rows. Rows of unchanged files are those of the entry that there is; if
// all are, it stays.
func (g *gathering) gather(ctx context.Context, key string, files []DocumentFile,
	have *fetch.Entry,
) (*fetch.Entry, error) {
	l := &loading{gathering: g, known: map[string]knownRow{}, moved: map[string]string{}}
	defer l.close()
	if have != nil {
		if err := l.open(have); err != nil {
			g.Log.Warn("the documents of the last load are read again", "dataset", g.name, "error", err)
			have = nil
		}
	}
	l.step = g.Progress.Start(g.name, "read documents", total(files))
	defer l.step.End()
	rows, err := g.Cache.Rows(key, g.MaxDownload, io.Discard)
	if err != nil {
		return nil, err
	}
	defer rows.Discard()
	same, err := l.load(ctx, files, rows)
	if err != nil {
		return nil, err
	}
	if same && have != nil && len(files) == len(l.known) {
		return have, nil
	}
	return rows.Entry(g.Clock.Now())
}

func total(files []DocumentFile) (bytes int64) {
	for _, f := range files {
		bytes += f.Size
	}
	return bytes
}

// loading is one run of gather.
type loading struct {
	*gathering
	known map[string]knownRow // of the last load, by path
	moved map[string]string   // paths, by hash and extension
	old   *os.File            // the rows of the last load
	step  *load.Step

	start   sync.Once
	workers documents.Workers
	failed  error // why they do not start
}

// knownRow is a row of the last load.
type knownRow struct {
	DocumentFile
	at, size int64 // in the file of rows
}

// open reads which rows the last load has.
func (l *loading) open(have *fetch.Entry) (err error) {
	if l.old, err = l.Cache.Open(have); err != nil {
		return err
	}
	in := bufio.NewReaderSize(l.old, 1<<20)
	for at := int64(0); ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var row documentRow
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		if row.Source.File != "" { // else it failed for a reason that may have passed
			l.known[row.Path] = knownRow{row.Source, at, int64(len(line))}
			l.moved[row.Metadata.SHA256+path.Ext(row.Path)] = row.Path
		}
		at += int64(len(line))
	}
}

func (l *loading) close() {
	if l.workers != nil {
		l.workers.Close()
	}
	if l.old != nil {
		l.old.Close()
	}
}

// made is a row that is ready to be written.
type made struct {
	line  json.RawMessage
	known bool
	err   error
}

// load writes the rows of files in their order, and reports whether all are known.
func (l *loading) load(ctx context.Context, files []DocumentFile, rows *fetch.Rows) (same bool, err error) {
	group, ctx := errgroup.WithContext(ctx)
	type pending struct {
		row  chan made
		size int64
	}
	queue := make(chan pending, atOnce)
	group.Go(func() error {
		defer close(queue)
		for _, f := range files {
			row := make(chan made, 1)
			select {
			case queue <- pending{row, f.Size}:
			case <-ctx.Done():
				return ctx.Err()
			}
			group.Go(func() error {
				m := l.row(ctx, f)
				row <- m
				return m.err
			})
		}
		return nil
	})
	same = true
	for next := range queue {
		m := <-next.row
		l.step.Add(next.size)
		if err == nil && m.err == nil {
			err = rows.Add(m.line)
			same = same && m.known
		}
	}
	return same, cmp.Or(group.Wait(), err)
}

// row makes the row of a file. Its error ends the load: those of the document are in the row.
func (l *loading) row(ctx context.Context, f DocumentFile) made {
	row := documentRow{Source: f, Modified: time.UnixMicro(int64(f.Modified)).UTC()}
	row.place(l.found, f.File)
	if have, ok := l.known[row.Path]; ok && have.DocumentFile == f {
		line, _, err := l.knownRow(row.Path)
		if err == nil {
			return made{line, true, nil}
		}
	}
	doc, err := l.document(ctx, f, row.Path)
	if err != nil {
		return made{err: err}
	}
	row.Metadata, row.Data = doc.Metadata, doc.Data
	if row.Metadata.Size == 0 {
		row.Metadata.Size = f.Size
	}
	if row.Metadata.Error == "" {
		row.Content = &doc.Content
	}
	if doc.again {
		row.Source = DocumentFile{}
	}
	line, err := json.Marshal(row)
	if err == nil && len(line) > maxDocumentRow {
		row.Content, row.Data = nil, nil
		row.Metadata.Error = fmt.Sprintf("its text and data take more than %d MB as JSON", maxDocumentRow>>20)
		line, err = json.Marshal(row)
	}
	return made{line, false, err}
}

// maxDocumentRow is what a row may take, less than what DuckDB's read_json reads.
const maxDocumentRow = 15 << 20

// place sets where the file is: its path relative to the declared folder. The path is the id:
// it is stable when the text changes, and people can read it.
func (r *documentRow) place(found Files, file string) {
	r.Path = path.Base(file)
	if rest, ok := strings.CutPrefix(file, found.Base); ok && found.Base != "" {
		r.Path = strings.TrimLeft(rest, "/")
	}
	r.Path = cmp.Or(found.Name, r.Path)
	r.ID, r.Name, r.Folder = r.Path, path.Base(r.Path), strings.TrimSuffix(path.Dir(r.Path), ".")
}

// read is a document; again says that the next load must read it, since what failed was not it.
type read struct {
	documents.Document
	again bool
}

func failed(format string, args ...any) (r read) {
	r.Metadata.Error = fmt.Sprintf(format, args...)
	return r
}

// document fetches and reads a document, or takes it from the last load if it was moved or
// written again with the same content.
func (l *loading) document(ctx context.Context, f DocumentFile, name string) (read, error) {
	if f.Error != "" {
		out := failed("%s", f.Error)
		out.again = true
		return out, nil
	}
	if f.Size > l.limits.File {
		return failed("the file has %d bytes; params.document_max_file_size allows %d", f.Size, l.limits.File), nil
	}
	data, err := l.fetch(ctx, f)
	if err != nil {
		if ctx.Err() != nil {
			return read{}, ctx.Err()
		}
		out := failed("the file cannot be fetched: %s", fault.FirstLines(err.Error()))
		out.again = true
		return out, nil
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	if from, ok := l.moved[hash+path.Ext(name)]; ok {
		if _, row, err := l.knownRow(from); err == nil && row.Content != nil {
			return read{Document: documents.Document{Content: *row.Content, Data: row.Data, Metadata: row.Metadata}}, nil
		}
	}
	l.start.Do(func() { l.workers, l.failed = l.Documents(l.limits.Timeout) })
	if l.failed != nil {
		return read{}, notRead(l.failed)
	}
	doc, err := l.workers.Read(ctx, name, data, l.limits.Options)
	if err != nil {
		return read{}, notRead(err)
	}
	doc.Metadata.SHA256 = hash
	return read{Document: doc}, nil
}

// notRead is the fault of workers that cannot work.
func notRead(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fetch.Errorf("", "", "the workers that read documents failed: %s", err)
}

func (l *loading) fetch(ctx context.Context, f DocumentFile) (data []byte, err error) {
	found := false
	query := fmt.Sprintf("SELECT content FROM read_blob(%s) WHERE size <= %d", engine.Literal(EscapeGlob(f.File)),
		l.limits.File)
	err = tables.Query(ctx, l.DB, query, func(c *engine.Chunk) {
		for i := range c.Len() {
			data, found = bytes.Clone(c.Column(0).Bytes(i)), true
		}
	})
	if err == nil && !found {
		err = errors.New("it was removed or grew meanwhile")
	}
	return data, err
}

// knownRow returns a row of the last load.
func (l *loading) knownRow(name string) (line json.RawMessage, row documentRow, err error) {
	at := l.known[name]
	line = make([]byte, at.size)
	if _, err = l.old.ReadAt(line, at.at); err == nil {
		err = json.Unmarshal(line, &row)
	}
	return line, row, err
}

// reads returns a query of the rows.
func (g *gathering) reads(ctx context.Context, file *fetch.File) (*source.Opened, error) {
	rows := "read_json(" + engine.Literal(EscapeGlob(file.Path)) +
		", format = 'newline_delimited', columns = " + documentColumns + ")"
	query := "SELECT * FROM " + rows
	described, err := tables.Describe(ctx, g.DB, query)
	if err != nil {
		return nil, fault.FromDuckDB(err)
	}
	opened := &source.Opened{Query: query, Columns: described, Bytes: file.Size, Remarks: g.found.remarkIgnored()}
	wrong, err := tables.Texts(ctx, g.DB, "SELECT path || ': ' || (metadata->>'error') FROM "+rows+
		" WHERE metadata->>'error' IS NOT NULL ORDER BY path")
	if err != nil {
		return nil, fault.FromDuckDB(err)
	}
	if n := len(wrong); n > 0 {
		f := fault.New("from", "see the column metadata of the rows without content",
			"%s cannot be read: %s", plural.Of(n, "document"), truncate.Line(strings.Join(wrong[:min(n, 3)], "; "), 1000))
		f.Warning = true
		opened.Remarks = append(opened.Remarks, f)
	}
	return opened, nil
}

// remarkIgnored warns of files in a folder of documents that have other formats.
func (f Files) remarkIgnored() []error {
	if len(f.Ignored) == 0 {
		return nil
	}
	extensions := map[string]bool{}
	for _, name := range f.Ignored {
		extensions[cmp.Or(strings.ToLower(path.Ext(name)), path.Base(name))] = true
	}
	shown := slices.Sorted(maps.Keys(extensions))
	more := ""
	if len(shown) > 5 {
		shown, more = shown[:5], " and others"
	}
	w := fault.New("from", "name the documents with a glob to leave the others out",
		"the folder has %s of other formats, which spiced does not read: %s%s", plural.Of(len(f.Ignored), "file"),
		strings.Join(shown, ", "), more)
	w.Warning = true
	return []error{w}
}

// Documents reports whether a format is that of documents: one row is a file.
func Documents(name string) bool {
	return slices.ContainsFunc(documentFormats, func(f *format) bool { return f.name == name })
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/scratch"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Extension is an extension of DuckDB. [Open] loads it from its file, which DuckDB's
// developers must have signed and whose name must be NAME.duckdb_extension.
type Extension struct {
	Name string
	Path string   // "": there is no file
	Set  []string // statements that change its settings, or attach what it reads
	// Environment has variables, as NAME=value, for code in C of this process: Go and the
	// programs that it starts do not see them.
	Environment []string
	// Label is a setting of connections. Each connection that runs statements of callers has
	// another text in it, with which [Options.Interrupted] is called when it is
	// interrupted: where DuckDB waits for an answer it notices no interrupt. "": none.
	Label string
}

// Errors of [DB.Extension].
var (
	ErrNotInstalled = errors.New("it is not installed")
	ErrNotLoaded    = errors.New("it was not loaded when DuckDB was opened")
)

// Extension returns nil if the extension of that name is loaded, and else why not.
func (db *DB) Extension(name string) error {
	err, known := db.extensions[name]
	if !known {
		return ErrNotLoaded
	}
	return err
}

// loadExtensions loads the extensions, which is possible before [DB.Lock] only.
// Statements may call none of the functions that they add: some read any server or
// file that their arguments name, even when DuckDB is locked.
func (in *instance) loadExtensions() error {
	loaded := make(map[string]error, len(in.db.opts.Extensions))
	for _, e := range in.db.opts.Extensions {
		loaded[e.Name] = ErrNotInstalled
		if e.Path != "" {
			loaded[e.Name] = in.load(e)
		}
	}
	if in.db.extensions != nil { // it replaces another instance
		for name, err := range in.db.extensions {
			if err == nil && loaded[name] != nil {
				return fmt.Errorf("load the extension %s again: %w", name, loaded[name])
			}
		}
		return nil
	}
	in.db.extensions = loaded
	if len(loaded) == 0 {
		return nil
	}
	return in.db.builtins.addForeign(in.writer)
}

// An error of a PostgreSQL server, or of the connection to it, as DuckDB's extension
// reports it: with the statement that the extension sent, or the connection string. Most
// have the server's message, which libpq begins with its severity.
var (
	postgresError = regexp.MustCompile(`^(?:Unable to connect to Postgres at|Unable to [a-zA-Z ]+ Postgres|Failed to (?:prepare|execute|fetch|read|send|copy)[a-zA-Z ]*)(?: "|: )`)
	serverMessage = regexp.MustCompile(`(?:FATAL|PANIC|ERROR):  ([^\n]*)`)
)

// objectErrors match an error of an object store. DuckDB knows the proxy for it, whose URL
// has the scheme, the bucket and the key of the object.
var objectErrors = []*regexp.Regexp{
	regexp.MustCompile(`HTTP (?P<status>[0-9]+)[^\n]* 'http://127\.0\.0\.1:[0-9]+/(?P<scheme>[a-z0-9]+)/(?P<key>[^'?]*)[^']*'[^\n]*`),
	regexp.MustCompile(`HTTP [A-Z]+ error [a-z ]+'(?:http://127\.0\.0\.1:[0-9]+/)?(?P<scheme>[a-z0-9]+)(?:://|/)(?P<key>[^'?]*)[^']*'[^\n]* \(HTTP (?P<status>[0-9]+)[^\n]*`),
}

// Errors of the proxy, with its reason, and the names of tables there, which only the
// runtime knows.
var (
	proxyError = regexp.MustCompile(`(?s)http://127\.0\.0\.1:[0-9]+/.*<Message>(.*?)</Message>`)
	tableURL   = regexp.MustCompile(`s3://` + Hidden + `[a-z0-9_]+/table/?`)
	tableHost  = regexp.MustCompile(Hidden + `lake_[a-z0-9]+`)
)

// storeURL matches the URL of a bucket whose name for DuckDB has that of its store, too.
var storeURL = regexp.MustCompile(`\b((?:s3|gs)://[a-z0-9.-]+)(?:~|%7E)[0-9a-f]{16}/`)

// azureURL matches the URL of a container of Azure, which DuckDB knows as a bucket of S3.
var azureURL = regexp.MustCompile(`\bs3://([a-z0-9$-]+)(?:@|%40)([a-z0-9]+)(?:~|%7E)[0-9a-f]+/`)

// An error of a MySQL server, or of the connection to it, as DuckDB's extension reports
// it: with the statement that the extension sent, or the host.
var (
	mysqlError   = regexp.MustCompile(`(?s)^(.*?)(?:,| for)? MySQL query ".*"(?:: (.*))?$`)
	mysqlConnect = regexp.MustCompile(`(?s)^Failed to connect to MySQL database with parameters ".*": (.*)\. (?:First attempted|Attempted) host: `)
)

// withoutConnection returns the message of an error of a server, without the statement,
// the connection string and the address of an extension.
func withoutConnection(message string) string {
	message, _, _ = strings.Cut(withoutServer(message), "\n   0: ") // a stack trace of Rust
	message = storeURL.ReplaceAllString(azureURL.ReplaceAllString(message, "abfs://$1@$2/"), "$1/")
	return tableHost.ReplaceAllString(tableURL.ReplaceAllString(message, ""), "table")
}

func withoutServer(message string) string {
	if m := proxyError.FindStringSubmatch(message); m != nil {
		return html.UnescapeString(m[1])
	}
	if strings.Contains(message, "no version-hint could be found") {
		return "the newest metadata file of the Iceberg table cannot be found"
	}
	for _, e := range objectErrors {
		m := e.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		key := m[e.SubexpIndex("key")]
		if strings.Contains(key, "%3A//") { // a URL, which the proxy does not serve
			return "the table names a file outside of its folder"
		}
		return fmt.Sprintf("the object store answered HTTP %s for %s://%s", m[e.SubexpIndex("status")],
			m[e.SubexpIndex("scheme")], key)
	}
	if m := mysqlConnect.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	if m := mysqlError.FindStringSubmatch(message); m != nil {
		return cmp.Or(m[2], m[1])
	}
	if !postgresError.MatchString(message) {
		return message
	}
	if m := serverMessage.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	if strings.Contains(message, "server closed the connection") || strings.HasPrefix(message, "Unable to connect") {
		return "the connection to the PostgreSQL server failed"
	}
	return message
}

// connectionsInUse matches the error of the runtime's proxies when all connections to a
// server are in use.
var connectionsInUse = regexp.MustCompile(`^(all [0-9]+ connections to .* are in use); (.*)$`)

// allVarchar is the setting that the extension for SQLite proposes, which is locked.
const allVarchar = "\n* SET sqlite_all_varchar=true"

// ofExtension improves an error of an extension that reads other databases.
func (e *Error) ofExtension() {
	if message, _, ok := strings.Cut(e.Message, allVarchar); ok {
		e.Message = strings.TrimSuffix(message, ".")
		e.Hint = "correct the value in the SQLite file, where for example WHERE typeof(x) <> 'real' finds it in a column " +
			"x of type REAL"
		return
	}
	switch m := connectionsInUse.FindStringSubmatch(e.Message); {
	case m != nil:
		e.Code, e.Message, e.Hint = errcode.Busy, m[1], m[2]
	case e.Class == "Not implemented" && e.Message == "Unsupported expression type":
		e.Message = "DuckDB's extension cannot send IS [NOT] DISTINCT FROM within OR to the server of a dataset"
		e.Hint = "write x = 5 for x IS NOT DISTINCT FROM 5, and (x <> 5 OR x IS NULL) for x IS DISTINCT FROM 5; " +
			"or accelerate the dataset"
	}
}

// openLabeled opens all connections for statements at once, and sets what
// [Extension.Label] asks for. The extension may forget what it has cached then, so that
// this is not possible later.
func (in *instance) openLabeled() error {
	db := in.db
	if len(in.labels) == 0 || db.opts.Interrupted == nil {
		return nil
	}
	for range db.opts.Connections {
		c, err := in.connect(searchPath)
		if err != nil {
			return err
		}
		db.pools[0].add(c)
		label := fmt.Sprintf("connection %d", c.id)
		for _, name := range in.labels {
			if err := c.exec("SET SESSION " + Identifier(name) + " = " + Literal(label)); err != nil {
				return err
			}
		}
		c.interrupted = func() { db.opts.Interrupted(label) }
	}
	return nil
}

// addForeign adds the functions that are not in the list of the linked DuckDB.
func (b *Builtins) addForeign(c *conn) error {
	b.foreign = map[string]bool{}
	return c.each("SELECT DISTINCT function_name FROM duckdb_functions()", func(chunk *Chunk) error {
		for i := range chunk.Len() {
			name := sqltree.Fold(string(chunk.Column(0).Bytes(i)))
			if _, own := b.kinds[name]; !own {
				b.foreign[name] = true
			}
		}
		return nil
	})
}

func (in *instance) load(e Extension) error {
	for _, variable := range e.Environment {
		setenv(variable)
	}
	for _, sql := range append([]string{"LOAD " + Literal(e.Path)}, e.Set...) {
		if err := in.writer.exec(sql); err != nil {
			return err
		}
	}
	if e.Label != "" {
		in.labels = append(in.labels, e.Label)
	}
	return nil
}

// InstallExtension makes DuckDB put an extension for its version and platform into its
// folder of extensions, .duckdb in the user's home: it downloads it, or, if file is not
// "", checks and copies that file. It returns the path of the installed file.
func InstallExtension(ctx context.Context, name, file string) (path string, err error) {
	dir, err := scratch.New("spill")
	if err != nil {
		return "", err
	}
	defer dir.Remove()
	in, err := openBare(Options{TempDir: dir.Path})
	if err != nil {
		return "", err
	}
	defer in.close(true)
	defer context.AfterFunc(ctx, in.writer.interrupt)()
	what := Identifier(name)
	if file != "" {
		what = Literal(file)
	}
	if err := in.writer.exec("INSTALL " + what); err != nil {
		return "", AsError(err)
	}
	query := "SELECT install_path FROM duckdb_extensions() WHERE installed AND extension_name = " + Literal(name)
	err = in.writer.each(query, func(chunk *Chunk) error {
		path = string(chunk.Column(0).Bytes(0))
		return nil
	})
	if err == nil && path == "" {
		err = fmt.Errorf("DuckDB did not install %s from the file", name)
	}
	return path, err
}

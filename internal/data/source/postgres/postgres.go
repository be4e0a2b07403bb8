// Package postgres is the connector for tables and views of PostgreSQL servers, which
// DuckDB's extension postgres_scanner reads: it sends the columns and the conditions of a
// statement to the server, and reads large tables in parallel.
//
//	connector := postgres.Kind.Open(source.Host{DB: db, Log: log})
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
//
// DuckDB connects to a [proxy] of this process, which connects to the servers. After
// DuckDB is locked it can attach no database, but its function postgres_scan_pushdown
// still connects; statements cannot call that function.
package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// extension is the extension of DuckDB that the connector needs.
const extension = "postgres_scanner"

// knownParams are those of the connector.
var knownParams = []spicepod.Param{
	{Name: "pg_host", Doc: "Host of the server, or the folder of its socket. Default: localhost."},
	{Name: "pg_port", Type: spicepod.ParamInt, Doc: "Port of the server. Default: 5432."},
	{Name: "pg_db", Doc: "The database. Default: the one that from names, else the user's name."},
	{Name: "pg_user", Doc: "The user."},
	{Name: "pg_pass", Secret: true, Doc: "Password of the user."},
	{Name: "pg_sslmode", Doc: "disable, prefer, require, verify-ca or verify-full. Default: verify-full, or prefer for " +
		"a server on this machine."},
	{
		Name: "pg_sslrootcert",
		Doc: "File of the certificate of the authority that the server's certificate must be from. Default: those " +
			"of the system.",
	},
	{
		Name: "pg_connection_string", Secret: true,
		Doc: "All of these in one: postgres://user:password@host:port/database?sslmode=require, or host=… user=….",
	},
	{
		Name: "connection_pool_size", Type: spicepod.ParamInt,
		Doc: "Most connections to the database, 4 to 1000. Default: 16.",
	},
}

// sslModes are the values of pg_sslmode.
var sslModes = []string{"disable", "prefer", "require", "verify-ca", "verify-full"}

// Connector reads tables of PostgreSQL servers.
type Connector struct {
	dbproxy.Written
	db  *engine.DB
	log *slog.Logger

	mu    sync.Mutex
	proxy *proxy // nil until a source is opened
}

// Close ends all connections.
func (c *Connector) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proxy != nil {
		c.proxy.Close()
	}
}

type pgSource struct {
	*Connector
	config       *pgconn.Config
	connections  int
	id           string // of the server: equal for equal configs
	schema, name string // schema "": the search path of the user
	write        bool
	listed       bool // it is read if it cannot be written
}

// WritesTo returns the server that the source writes to, for [dbproxy.Written].
func (s *pgSource) WritesTo() string {
	if !s.write {
		return ""
	}
	return s.id
}

// Changing reports whether a dataset writes to the server.
func (s *pgSource) Changing() bool { return s.Changes(s.id) }

// Compile checks the params.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	if err := d.Params.CheckKnown("a dataset from postgres", spicepod.ParamNames(knownParams)); err != nil {
		return nil, err
	}
	s := &pgSource{Connector: c, write: d.Write, listed: d.Listed}
	database, err := s.split(d.From.Target)
	if err != nil {
		return nil, err
	}
	return s, s.configure(d, database)
}

// configure reads the params of the connection to a database, "" for the one of the params.
func (s *pgSource) configure(d source.Declaration, database string) error {
	text, err := connectionString(d, database)
	if err != nil {
		return err
	}
	if s.config, err = pgconn.ParseConfig(text); err != nil {
		return fault.New(paramOf(d.Params),
			"write postgres://user:password@host:port/database?sslmode=require, or the params pg_host, pg_user and so on",
			"%s", reason(err))
	}
	s.config.ConnectTimeout = dbproxy.ConnectLimit
	s.config.RuntimeParams = map[string]string{"application_name": "spiced"}
	if database != "" && s.config.Database != database {
		return fault.New("from", "leave the database out of from", "from names the database %q, the params name %q", database,
			s.config.Database)
	}
	if s.connections, err = d.Params.Int("connection_pool_size", dbproxy.DefaultConnections); err != nil {
		return err
	}
	if s.connections < 4 || s.connections > 1000 {
		return fault.New("params.connection_pool_size", "write a number between 4 and 1000; the default is 16",
			"connection_pool_size must be between 4 and 1000, got %d", s.connections)
	}
	s.id = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %d", text, s.connections)))[:32]
	return nil
}

// split splits [[database.]schema.]table; each part may be quoted.
func (s *pgSource) split(target string) (database string, err error) {
	parts, err := source.SplitName(target)
	switch {
	case err != nil:
		return "", err
	case len(parts) > 3:
		return "", fault.New("from", "write table, schema.table or database.schema.table", "%q has too many parts", target)
	}
	slices.Reverse(parts)
	s.name = parts[0]
	if len(parts) > 1 {
		s.schema = parts[1]
	}
	if len(parts) > 2 {
		database = parts[2]
	}
	return database, nil
}

// paramOf is the param that a connection string is from.
func paramOf(params spicepod.Params) string {
	if params.Has("pg_connection_string") {
		return "params.pg_connection_string"
	}
	return "params"
}

// reason is the error of a connection string without the string.
func reason(err error) string {
	text := err.Error()
	if parse := (*pgconn.ParseConfigError)(nil); errors.As(err, &parse) {
		if inner := parse.Unwrap(); inner != nil {
			text = inner.Error()
		} else if _, after, ok := strings.Cut(text, "`: "); ok {
			text = after
		}
	}
	return "the connection cannot be configured: " + text
}

// connectionString returns the params as libpq writes them:
// https://www.postgresql.org/docs/current/libpq-connect.html.
func connectionString(d source.Declaration, database string) (string, error) {
	text, err := d.Params.String("pg_connection_string")
	if err != nil {
		return "", err
	}
	if d.Params.Has("pg_connection_string") {
		for _, p := range knownParams {
			if strings.HasPrefix(p.Name, "pg_") && p.Name != "pg_connection_string" && d.Params.Has(p.Name) {
				return "", fault.OfKey("params."+p.Name, "write it into pg_connection_string",
					"pg_connection_string has all of the connection")
			}
		}
		return text, nil
	}
	values := map[string]string{}
	for key, param := range map[string]string{
		"host": "pg_host", "dbname": "pg_db", "user": "pg_user",
		"password": "pg_pass", "sslmode": "pg_sslmode", "sslrootcert": "pg_sslrootcert",
	} {
		if values[key], err = d.Params.String(param); err != nil {
			return "", err
		}
	}
	port, err := d.Params.Int("pg_port", 5432)
	if err != nil {
		return "", err
	}
	if port < 1 || port > 65535 {
		return "", fault.New("params.pg_port", "", "%d is not a port", port)
	}
	values["port"] = strconv.Itoa(port)
	values["host"] = cmp.Or(values["host"], "localhost")
	values["dbname"] = cmp.Or(values["dbname"], database)
	values["sslmode"] = cmp.Or(values["sslmode"], defaultMode(values["host"]))
	if !slices.Contains(sslModes, values["sslmode"]) {
		return "", fault.New("params.pg_sslmode", "write "+strings.Join(sslModes, ", "), "%q is not a mode",
			values["sslmode"])
	}
	if values["user"] == "" {
		return "", fault.New("params", "set params.pg_user", "the user is missing")
	}
	if file := values["sslrootcert"]; file != "" {
		values["sslrootcert"] = d.From.Absolute(file)
	}
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) { // equal params have equal texts, and share connections
		if value := values[key]; value != "" {
			fmt.Fprintf(&out, "%s='%s' ", key, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value))
		}
	}
	return out.String(), nil
}

// defaultMode is the pg_sslmode for a host: a server on this machine often has no TLS,
// and needs none.
func defaultMode(host string) string {
	if host == "localhost" || host == "127.0.0.1" || host == "::1" || strings.HasPrefix(host, "/") {
		return "prefer"
	}
	return "verify-full"
}

// Open looks the table up.
func (s *pgSource) Open(ctx context.Context) (*source.Opened, error) {
	if err := source.NeedsExtension(s.db, extension); err != nil {
		return nil, err
	}
	server, held, err := s.serve()
	if err != nil {
		return nil, err
	}
	out, err := s.open(ctx, server)
	if err != nil {
		resource.Release(held)
		return nil, err
	}
	out.Resources = []*resource.Resource{held}
	return out, nil
}

func (s *pgSource) open(ctx context.Context, server *server) (*source.Opened, error) {
	t, err := server.find(ctx, s.schema, s.name, s.write)
	if err != nil {
		return nil, err
	}
	out := &source.Opened{Format: "postgres", Bytes: -1, Comments: t.comments}
	scan := fmt.Sprintf("postgres_scan_pushdown(%s, %s, %s)", engine.Literal(s.proxy.dsn(s.id)), engine.Literal(t.schema),
		engine.Literal(t.name))
	out.Query = "SELECT * FROM " + scan
	if out.Columns, err = tables.Describe(ctx, s.db, out.Query); err != nil {
		return nil, err
	}
	if kept := t.kept(out.Columns); len(kept) > 0 {
		out.Query = "SELECT * FROM (SELECT * REPLACE (" + strings.Join(kept, ", ") + ") FROM " + scan + ")"
	}
	out.Changing = s.Changing()
	if s.write {
		switch err := t.checkWrites(server); {
		case err == nil:
			out.Writer = &writer{server, t.target(out.Columns)}
		case s.listed:
			out.ReadOnly = err
		default:
			return nil, err
		}
	}
	return out, nil
}

// kept are the columns whose conditions stay in DuckDB, as expressions that it does not
// send. Values of an enum, jsonb, inet, char(n) or a domain are texts in DuckDB, which the
// server compares otherwise: 'sad' < 'ok' if the enum has them in this order. Of lists and
// composite values, the extension sends DuckDB's texts, which are no values there.
func (t *table) kept(columns []engine.Column) (expressions []string) {
	for _, c := range columns {
		switch c.Type.ID {
		case engine.Varchar:
			if slices.Contains(texts, t.types[c.Name]) {
				continue
			}
		case engine.List, engine.Array, engine.Struct, engine.Map:
		default:
			continue
		}
		name := engine.Identifier(c.Name)
		expressions = append(expressions, "coalesce("+name+", NULL) AS "+name)
	}
	return expressions
}

// serve makes the proxy serve the server, until what it returns is released.
func (s *pgSource) serve() (*server, *resource.Resource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proxy == nil {
		var err error
		if s.proxy, err = newProxy(s.log); err != nil {
			return nil, nil, err
		}
	}
	return s.proxy.Register(s.id, func() (*server, error) { return newServer(s.config, s.connections) })
}

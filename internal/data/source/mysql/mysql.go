// Package mysql is the connector for tables and views of MySQL and MariaDB servers, which
// DuckDB's extension mysql_scanner reads: it sends the columns and the conditions of a
// statement to the server.
//
//	proxy, err := mysql.NewProxy(log) // DuckDB opens with proxy.Extension(…)
//	connector := mysql.Kind.Open(source.Host{DB: db, Proxy: proxy})
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
//
// DuckDB connects to a [Proxy] of this process, which connects to the servers. The
// extension reads attached databases only, and DuckDB can attach none after it is locked:
// the one that is attached then is the proxy itself.
package mysql

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// extension is the extension of DuckDB that the connector needs.
const extension = "mysql_scanner"

// knownParams are those of the connector.
var knownParams = []spicepod.Param{
	{Name: "mysql_host", Doc: "Host of the server, or the path of its socket. Default: localhost."},
	{Name: "mysql_tcp_port", Type: spicepod.ParamInt, Doc: "Port of the server. Default: 3306."},
	{Name: "mysql_db", Doc: "The database, unless from names it."},
	{Name: "mysql_user", Doc: "The user."},
	{Name: "mysql_pass", Secret: true, Doc: "Password of the user."},
	{Name: "mysql_sslmode", Doc: "disabled, preferred, required, verify_ca or verify_identity. Default: " +
		"verify_identity, " +
		"or preferred for a server on this machine. With disabled, preferred or required, someone who controls the network " +
		"in between can read the password."},
	{
		Name: "mysql_sslrootcert",
		Doc: "File of the certificate of the authority that the server's certificate must be from. Default: those " +
			"of the system.",
	},
	{
		Name: "mysql_connection_string", Secret: true,
		Doc: "All of these in one: mysql://user:password@host:port/database?sslmode=required.",
	},
	{Name: "mysql_pool_max", Type: spicepod.ParamInt, Doc: "Most connections to the server, 2 to 1000. Default: 16."},
}

// The values of mysql_sslmode.
const (
	sslDisabled       = "disabled"
	sslPreferred      = "preferred"
	sslRequired       = "required"
	sslVerifyCA       = "verify_ca"
	sslVerifyIdentity = "verify_identity"
)

var sslModes = []string{sslDisabled, sslPreferred, sslRequired, sslVerifyCA, sslVerifyIdentity}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// Connector reads tables of MySQL servers.
type Connector struct {
	dbproxy.Written
	db    *engine.DB
	proxy *Proxy // nil: DuckDB has not attached it
}

type mysqlSource struct {
	*Connector
	config       *config
	connections  int
	id           string // of the server: equal for equal configs
	schema, name string
	write        bool
	listed       bool // it is read if it cannot be written
}

// WritesTo returns the server that the source writes to, for [dbproxy.Written].
func (s *mysqlSource) WritesTo() string {
	if !s.write {
		return ""
	}
	return s.id
}

// Changing reports whether a dataset writes to the server.
func (s *mysqlSource) Changing() bool { return s.Changes(s.id) }

// Compile checks the params.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	if err := d.Params.CheckKnown("a dataset from mysql", spicepod.ParamNames(knownParams)); err != nil {
		return nil, err
	}
	parts, err := source.SplitName(d.From.Target)
	if err != nil {
		return nil, err
	}
	s := &mysqlSource{Connector: c, name: parts[len(parts)-1], write: d.Write, listed: d.Listed}
	switch len(parts) {
	case 1:
	case 2:
		s.schema = parts[0]
	default:
		return nil, fault.New("from", "write table or database.table", "%q has too many parts", d.From.Target)
	}
	if err := s.configure(d); err != nil {
		return nil, err
	}
	if s.schema = cmp.Or(s.schema, s.config.database); s.schema == "" {
		return nil, fault.New("params", "set params.mysql_db", "the database is missing")
	}
	return s, nil
}

// configure reads the params of the connection.
func (s *mysqlSource) configure(d source.Declaration) (err error) {
	if s.config, err = configure(d); err != nil {
		return err
	}
	if s.connections, err = d.Params.Int("mysql_pool_max", dbproxy.DefaultConnections); err != nil {
		return err
	}
	if s.connections < 2 || s.connections > 1000 {
		return fault.New("params.mysql_pool_max", "write a number between 2 and 1000; the default is 16",
			"mysql_pool_max must be between 2 and 1000, got %d", s.connections)
	}
	s.id = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%#v %d", *s.config, s.connections)))[:32]
	return nil
}

// values are the params of a connection, which may come from a connection string.
type values struct {
	of     map[string]string // by param
	string bool              // they come from mysql_connection_string
}

// key is the param that a fault is about.
func (v values) key(param string) string {
	if v.string {
		param = "mysql_connection_string"
	}
	return "params." + param
}

func read(params spicepod.Params) (v values, err error) {
	v = values{of: map[string]string{}, string: params.Has("mysql_connection_string")}
	for _, p := range knownParams {
		if !params.Has(p.Name) || p.Name == "mysql_pool_max" {
			continue
		}
		if v.string && p.Name != "mysql_connection_string" {
			return v, fault.OfKey("params."+p.Name, "write it into mysql_connection_string",
				"mysql_connection_string has all of the connection")
		}
		if p.Type == spicepod.ParamInt {
			var n int
			n, err = params.Int(p.Name, 0)
			v.of[p.Name] = strconv.Itoa(n)
		} else {
			v.of[p.Name], err = params.String(p.Name)
		}
		if err != nil {
			return v, err
		}
	}
	if v.string {
		err = v.parse(v.of["mysql_connection_string"])
	}
	return v, err
}

// urlOptions are the options of connection strings, with their params.
var urlOptions = map[string]string{
	"sslmode": "mysql_sslmode", "ssl-mode": "mysql_sslmode",
	"sslrootcert": "mysql_sslrootcert", "ssl-ca": "mysql_sslrootcert",
}

// parse takes a connection string apart.
func (v values) parse(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" || u.Hostname() == "" {
		return fault.New("params.mysql_connection_string",
			"write mysql://user:password@host:port/database?sslmode=required, with % and two digits for special characters",
			"it is not a connection string")
	}
	v.of["mysql_host"], v.of["mysql_tcp_port"], v.of["mysql_db"] = u.Hostname(), u.Port(), strings.TrimPrefix(u.Path, "/")
	v.of["mysql_user"] = u.User.Username()
	v.of["mysql_pass"], _ = u.User.Password()
	for name, list := range u.Query() {
		param, ok := urlOptions[name]
		if !ok {
			return fault.New("params.mysql_connection_string", "its options are sslmode and sslrootcert",
				"the option %q is not known", name)
		}
		v.of[param] = list[0]
	}
	return nil
}

// configure returns how to connect.
func configure(d source.Declaration) (*config, error) {
	v, err := read(d.Params)
	if err != nil {
		return nil, err
	}
	c := &config{
		host: cmp.Or(v.of["mysql_host"], "localhost"), database: v.of["mysql_db"], user: v.of["mysql_user"],
		password: v.of["mysql_pass"],
		mode:     strings.ToLower(v.of["mysql_sslmode"]), roots: v.of["mysql_sslrootcert"],
	}
	if c.mode = cmp.Or(c.mode, defaultMode(c.host)); !slices.Contains(sslModes, c.mode) {
		return nil, fault.New(v.key("mysql_sslmode"), "write "+strings.Join(sslModes, ", "), "%q is not a mode",
			v.of["mysql_sslmode"])
	}
	port := cmp.Or(v.of["mysql_tcp_port"], "3306")
	if c.port, err = strconv.Atoi(port); err != nil || c.port < 1 || c.port > 65535 {
		return nil, fault.New(v.key("mysql_tcp_port"), "", "%s is not a port", port)
	}
	if c.user == "" {
		return nil, fault.New("params", "set params.mysql_user", "the user is missing")
	}
	if c.roots != "" {
		c.roots = d.From.Absolute(c.roots)
	}
	return c, nil
}

// defaultMode is the mysql_sslmode for a host: a server on this machine often has no TLS,
// and needs none.
func defaultMode(host string) string {
	if host == "localhost" || host == "127.0.0.1" || host == "::1" || strings.HasPrefix(host, "/") {
		return sslPreferred
	}
	return sslVerifyIdentity
}

// Open looks the table up.
func (s *mysqlSource) Open(ctx context.Context) (*source.Opened, error) {
	if err := source.NeedsExtension(s.db, extension); err != nil {
		return nil, err
	}
	server, held, err := s.register()
	if err != nil {
		return nil, err
	}
	out, err := s.open(ctx, server, held)
	if err != nil {
		resource.Release(held)
	}
	return out, err
}

// register makes the proxy serve the server, until the resource is released.
func (s *mysqlSource) register() (*server, *resource.Resource, error) {
	return s.proxy.Register(s.id, func() (*server, error) { return newServer(s.id, s.config, s.connections) })
}

// make makes DuckDB know a relation. What fails once is never known.
func (s *mysqlSource) make(ctx context.Context, r *relation) error {
	r.made.Do(func() {
		ctx := context.WithoutCancel(ctx)
		if r.err = s.db.Exec(ctx, r.create()); r.err == nil {
			_, r.err = tables.Describe(ctx, s.db, "FROM "+r.String())
		}
		if r.err != nil {
			s.proxy.discard(r)
		}
	})
	return r.err
}

func (s *mysqlSource) open(ctx context.Context, server *server, held *resource.Resource) (*source.Opened, error) {
	t, err := server.find(ctx, s.schema, s.name, s.write)
	if err != nil {
		return nil, err
	}
	r, err := s.proxy.relate(server, t)
	if err != nil {
		return nil, err
	}
	if err := s.make(ctx, r); err != nil {
		return nil, err
	}
	out := &source.Opened{Format: "mysql", Bytes: -1, Comments: t.comments}
	out.Query = "SELECT * FROM " + r.String()
	if out.Columns, err = tables.Describe(ctx, s.db, out.Query); err != nil {
		return nil, err
	}
	var kept []string
	for _, c := range out.Columns {
		if c.Type.ID == engine.Float { // the server compares it with a number of more digits
			name := engine.Identifier(c.Name)
			kept = append(kept, "coalesce("+name+", NULL) AS "+name)
		}
	}
	if len(kept) > 0 {
		out.Query = "SELECT * FROM (SELECT * REPLACE (" + strings.Join(kept, ", ") + ") FROM " + r.String() + ")"
	}
	out.Changing = s.Changing()
	if s.write {
		switch err := t.checkWrites(server); {
		case err == nil:
			server.written.Store(true)
			out.Writer = &writer{server, t.target(out.Columns)}
		case s.listed:
			out.ReadOnly = err
		default:
			return nil, err
		}
	}
	out.Resources = []*resource.Resource{resource.NewWith([]string{r.create()}, func() { resource.Release(held) })}
	return out, nil
}

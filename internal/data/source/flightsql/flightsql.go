// Package flightsql is the connector for tables of other Flight SQL servers, among them
// other runtimes: their rows are read as Arrow record batches into a copy.
//
//	connector := flightsql.Kind.Open(source.Host{DB: db})
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
//
// The protocol: https://arrow.apache.org/docs/format/FlightSql.html.
package flightsql

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/sql/arrowrows"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// knownParams are those of `flightsql:`.
var knownParams = []spicepod.Param{
	{
		Name: "flightsql_endpoint",
		Doc:  "URL of the server: `https://host:port` or `grpc+tls://host:port`, or `http://host:port` without TLS.",
	},
	{Name: "flightsql_username", Doc: "The user."},
	{Name: "flightsql_password", Secret: true, Doc: "Password of the user."},
	{
		Name: "flightsql_tls_ca_certificate_file",
		Doc: "File of the certificate of the authority that the server's certificate must be from. Default: those " +
			"of the system.",
	},
}

// spiceParams are those of `spice.ai:`.
var spiceParams = []spicepod.Param{
	{Name: "spiceai_api_key", Secret: true, Doc: "A key of the other runtime, or of Spice.ai."},
	{Name: "spiceai_token", Secret: true, Doc: "Another name of spiceai_api_key."},
	{
		Name: "spiceai_endpoint",
		Doc: "URL of the Flight SQL port of the other runtime: `https://host:port` or `grpc+tls://host:port`, or " +
			"`http://host:port` without TLS.",
	},
	{Name: "spiceai_flight_endpoint", Doc: "Another name of spiceai_endpoint."},
	{Name: "spiceai_region", Doc: "Region of Spice.ai, such as us-east-1, instead of the endpoint."},
	{
		Name: "spiceai_tls_ca_certificate_file",
		Doc: "File of the certificate of the authority that the server's certificate must be from. Default: those " +
			"of the system.",
	},
}

// Connector reads tables of Flight SQL servers.
type Connector struct {
	db    *engine.DB
	spice bool
}

type flightSource struct {
	*Connector
	server
	table []string // its name: catalog and schema, if they are given, and table
}

// Compile checks the params.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	s := &flightSource{Connector: c}
	known, what := knownParams, "a dataset from flightsql"
	if c.spice {
		known, what = spiceParams, "a dataset from spice.ai"
	}
	if err := d.Params.CheckKnown(what, spicepod.ParamNames(known)); err != nil {
		return nil, err
	}
	compile := s.compile
	if c.spice {
		compile = s.compileSpice
	}
	return s, compile(d)
}

func (s *flightSource) compile(d source.Declaration) (err error) {
	endpoint, err1 := d.Params.String("flightsql_endpoint")
	user, err2 := d.Params.String("flightsql_username")
	password, err3 := d.Params.String("flightsql_password")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	if endpoint == "" {
		return fault.New("params", "set params.flightsql_endpoint, for example http://127.0.0.1:50051",
			"the endpoint of the server is missing")
	}
	if password != "" && user == "" {
		return fault.New("params", "set params.flightsql_username", "a password without a user")
	}
	s.user, s.password = user, password
	s.userParam, s.param = "params.flightsql_username", "params.flightsql_endpoint"
	if s.table, err = source.SplitName(d.From.Target); err != nil {
		return err
	}
	return s.at(d, endpoint, s.param, "flightsql_tls_ca_certificate_file")
}

// compileSpice reads from: spice.ai/table, spice.ai/org/app/datasets/table, or
// spice.ai:https://host:port, where the table has the name of the dataset.
func (s *flightSource) compileSpice(d source.Declaration) (err error) {
	endpoint, err1 := eitherOf(d.Params, "spiceai_endpoint", "spiceai_flight_endpoint")
	key, err2 := eitherOf(d.Params, "spiceai_api_key", "spiceai_token")
	region, err3 := d.Params.String("spiceai_region")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	s.password = key
	s.userParam, s.param = "params.spiceai_api_key", "params.spiceai_endpoint"
	target := d.From.Target
	switch parts := strings.Split(target, "/"); {
	case strings.Contains(target, "://"):
		if endpoint != "" {
			return fault.OfKey("params.spiceai_endpoint", "write one of them", "from has the endpoint")
		}
		endpoint, s.param = target, "from"
		s.table, err = source.SplitName(d.Name)
	case len(parts) == 4 && parts[2] == "datasets":
		s.table = []string{parts[0], parts[1], parts[3]}
	case len(parts) == 1:
		s.table, err = source.SplitName(target)
	default:
		return fault.New("from", "write spice.ai:https://host:port, spice.ai/table or spice.ai/org/app/datasets/table",
			"%q is not a dataset of a runtime", d.From.Shown)
	}
	if err != nil {
		return err
	}
	if endpoint == "" && region != "" {
		endpoint = "https://" + region + "-prod-aws-flight.spiceai.io"
	}
	if endpoint == "" {
		return fault.New("params",
			"set params.spiceai_endpoint, for example http://127.0.0.1:50051, or for Spice.ai params.spiceai_region",
			"the endpoint of the runtime is missing")
	}
	return s.at(d, endpoint, s.param, "spiceai_tls_ca_certificate_file")
}

// eitherOf returns the param that has one of two names; only one of them may be set.
func eitherOf(params spicepod.Params, name, other string) (string, error) {
	if params.Has(name) && params.Has(other) {
		return "", fault.OfKey("params."+other, "leave it out", "%s is set as well", name)
	}
	if params.Has(other) {
		name = other
	}
	return params.String(name)
}

// at reads the endpoint, which the value at path has.
func (s *server) at(d source.Declaration, endpoint, path, authority string) error {
	s.authority = "params." + authority
	const hint = "write https://host:port, grpc+tls://host:port, or http://host:port without TLS"
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return fault.New(path, hint, "%q is not the URL of a Flight SQL server", endpoint)
	}
	port := ""
	switch u.Scheme {
	case "http", "grpc", "grpc+tcp":
		s.transport, port = insecure.NewCredentials(), "80"
	case "https", "grpcs", "grpc+tls":
		port = "443"
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if config.RootCAs, err = authorities(d, authority); err != nil {
			return err
		}
		s.transport = credentials.NewTLS(config)
	default:
		return fault.New(path, hint, "%q is not a scheme of Flight SQL servers", u.Scheme)
	}
	s.address = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	return nil
}

// authorities reads the certificates of a param, or returns nil for those of the system.
func authorities(d source.Declaration, param string) (*x509.CertPool, error) {
	file, err := d.Params.String(param)
	if err != nil || file == "" {
		return nil, err
	}
	pem, err := os.ReadFile(d.From.Absolute(file))
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, fault.New("params."+param, "", "cannot read the certificate %q: %s", file, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fault.New("params."+param, "write the path of a PEM file", "the file has no certificate")
	}
	return pool, nil
}

// Open asks for the columns of the table.
func (s *flightSource) Open(ctx context.Context) (*source.Opened, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	schema, err := c.schema(ctx, s.table)
	if err != nil {
		c.close()
		return nil, err
	}
	out := &source.Opened{Format: "arrow", Bytes: -1, Columns: arrowrows.Columns(schema)}
	var narrowed atomic.Value // a condition and a limit, in SQL
	narrowed.Store("")
	out.Narrow = func(where string, limit int64) { narrowed.Store(clauses(where, limit)) }
	from, remove := s.db.AddStream(&engine.Stream{
		Columns: out.Columns,
		Open: func(ctx context.Context, numbers []int) (engine.StreamReader, error) {
			return c.read(ctx, s.table, schema, numbers, narrowed.Load().(string))
		},
	})
	out.Query = "SELECT * FROM " + from
	out.Resources = []*resource.Resource{resource.New(func() {
		remove()
		c.close()
	})}
	return out, nil
}

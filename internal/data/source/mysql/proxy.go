package mysql

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Proxy is the [dbproxy.Proxy] of MySQL. DuckDB attaches it before it is locked, as one
// database, whose catalog the proxy makes up: each schema of it is a relation, a table of
// some server as it was when a dataset was opened. A statement about a relation goes to its
// server.
type Proxy struct {
	*dbproxy.Proxy[*server]
	prefix string // of the names of relations, which no statement of a caller can have

	mu        sync.Mutex
	relations map[string]*relation // by name
	current   map[string]*relation // by key
	sessions  map[uint32]*session  // by number
	serial    uint32               // of the last session
}

// Limits of a proxy.
const (
	maxRelations   = 100_000 // which DuckDB keeps until it ends
	relationDigits = 5       // of the number of a relation
)

// attached is the name of the database in DuckDB.
const attached = engine.Hidden + "mysql"

// label is the setting of DuckDB's connections that reaches the proxy with each
// statement, so that [Proxy.Interrupt] finds it. It is for the time zone of the server's
// connection, which is always UTC here.
const label = "mysql_session_time_zone"

// NewProxy makes the socket.
func NewProxy(log *slog.Logger) (*Proxy, error) {
	base, err := dbproxy.New[*server]("mysql", "mysql.sock", log)
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		Proxy: base, prefix: "r" + strings.ToLower(rand.Text()) + "_",
		relations: map[string]*relation{}, current: map[string]*relation{}, sessions: map[uint32]*session{},
	}
	p.Start(p.serve)
	return p, nil
}

// Extension returns the extension with what makes DuckDB read the proxy, which is possible
// until DuckDB is locked. DuckDB keeps no connections: the proxy does.
func (p *Proxy) Extension(e engine.Extension) engine.Extension {
	e.Label = label
	e.Set = []string{
		"SET GLOBAL mysql_pool_size = 0",
		"SET GLOBAL mysql_pool_enable_reaper_thread = false",
		"SET GLOBAL mysql_incomplete_dates_as_nulls = true",
		"SET GLOBAL mysql_tinyint1_as_boolean = false",
		// The minimum of a timestamp loses its time zone, and some statements fail.
		"SET GLOBAL mysql_aggregate_pushdown_enabled = false",
		// ATTACH looks for a secret of this name, and shows no path then.
		fmt.Sprintf("CREATE TEMPORARY SECRET __default_mysql (TYPE mysql, SOCKET %s, HOST 'localhost', USER 'duckdb', "+
			"PASSWORD %s, DATABASE 'none', SSL_MODE 'disabled')",
			engine.Literal(p.Socket), engine.Literal(p.Password)),
		"ATTACH '' AS " + engine.Identifier(attached) + " (TYPE mysql)",
	}
	return e
}

// begin numbers a connection.
func (p *Proxy) begin(conn net.Conn) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serial++
	s := newSession(p, newWire(conn), p.serial)
	p.sessions[s.number] = s
	return s
}

func (p *Proxy) end(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s.number)
}

// serve serves one connection of DuckDB until it ends.
func (p *Proxy) serve(conn net.Conn) error {
	s := p.begin(conn)
	defer p.end(s)
	s.client.SetDeadline(time.Now().Add(dbproxy.StartLimit))
	if err := p.authenticate(s.client, s.number); err != nil {
		return err
	}
	s.client.SetDeadline(time.Time{})
	return s.serve()
}

// authenticate lets a client in that has the password.
func (p *Proxy) authenticate(client *wire, number uint32) error {
	nonce := []byte(rand.Text()[:20])
	flags := uint32(shared | clientDatabase | clientLongAuth)
	hello := append([]byte{10}, "8.0.0-spiced\x00"...)
	hello = append(binary.LittleEndian.AppendUint32(hello, number), nonce[:8]...)
	hello = binary.LittleEndian.AppendUint16(append(hello, 0), uint16(flags))
	hello = append(hello, utf8mb4, statusCommit, 0)
	hello = append(binary.LittleEndian.AppendUint16(hello, uint16(flags>>16)), 21)
	hello = append(append(append(hello, make([]byte, 10)...), nonce[8:]...), 0)
	if err := client.write(append(append(hello, cachingSHA2...), 0)); err != nil {
		return err
	}
	p1, err := client.read()
	if err != nil {
		return err
	}
	c := cursor{rest: p1}
	asked := c.uint32()
	c.take(4 + 1 + 23)
	c.terminated() // the user
	given := c.take(c.length())
	if c.bad || asked&shared != shared {
		return errPacket
	}
	want, _ := scramble(cachingSHA2, p.Password, nonce)
	if subtle.ConstantTimeCompare(given, want) != 1 {
		return client.write(errorPacket(&serverError{accessDenied, "28000", "the password is wrong"}))
	}
	return client.write([]byte{kindMore, 3}, okPacket())
}

// relation is a table of a server, as DuckDB knows it: the only table of a schema.
// DuckDB caches it, and while statements run it can forget none, so that a table whose
// columns change is another relation.
type relation struct {
	key    string // equal for equal tables of a server
	name   string // of the schema
	server string // id
	table  *table
	made   sync.Once // in DuckDB
	err    error     // of made
}

// String returns the name of the table in DuckDB.
func (r *relation) String() string {
	return engine.Identifier(attached) + "." + engine.Identifier(r.name) + "." + engine.Identifier(r.table.name)
}

// create is the statement that makes DuckDB look for the relation.
func (r *relation) create() string {
	return "CREATE SCHEMA " + engine.Identifier(attached) + "." + engine.Identifier(r.name)
}

func (p *Proxy) relate(s *server, t *table) (*relation, error) {
	key := fmt.Sprintf("%q %q %#v", s.id, t.from(""), t.columns)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.current[key]; r != nil {
		return r, nil
	}
	if len(p.relations) == maxRelations {
		return nil, fault.New("from", "restart spiced",
			"%d tables of MySQL servers, each change of whose columns is another, have been opened since the start, "+
				"which is the limit", maxRelations)
	}
	r := &relation{
		key: key, name: fmt.Sprintf("%s%0*d", p.prefix, relationDigits, len(p.relations)),
		server: s.id, table: t,
	}
	p.current[key], p.relations[r.name] = r, r
	return r, nil
}

// discard makes the next relation of the table another one.
func (p *Proxy) discard(r *relation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.current, r.key)
}

// named returns the relation that a statement names, and its server, which is nil unless
// a dataset reads it.
func (p *Proxy) named(sql string) (*relation, *server) {
	at := strings.Index(sql, p.prefix)
	end := at + len(p.prefix) + relationDigits
	if at < 0 || len(sql) < end {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.relations[sql[at:end]]
	if r == nil {
		return nil, nil
	}
	s, _ := p.Server(r.server)
	return r, s
}

// schemas returns the names of the relations. DuckDB asks for them once, and learns of
// later ones by [relation.create]. It would ask again if there were none.
func (p *Proxy) schemas() [][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows := [][]string{{"none"}}
	for name := range p.relations {
		rows = append(rows, []string{name})
	}
	return rows
}

// interrupt ends what servers do for a session.
func (p *Proxy) interrupt(number uint32) {
	p.mu.Lock()
	s := p.sessions[number]
	p.mu.Unlock()
	if s != nil {
		s.interrupt()
	}
}

// Interrupt ends what servers do for the statements of DuckDB's connections with this
// label. It returns at once.
func (p *Proxy) Interrupt(label string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		if s.is(label) {
			p.Go(s.interrupt)
		}
	}
}

func utoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

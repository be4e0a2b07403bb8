package mysql

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/puddle/v2"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// session serves a connection of DuckDB: a statement, or several in a transaction. It
// answers what is about the catalog, and sends what reads a relation to its server.
type session struct {
	proxy  *Proxy
	client *wire
	number uint32
	buffer []byte // of copyResult; nil until it is needed

	statements map[uint32]*statement // prepared ones, by DuckDB's numbers
	serial     uint32                // of the last of them
	begin      string                // the statement that begins a transaction on a server; "": none

	mu    sync.Mutex
	label string           // see const label
	uses  map[*server]*use // connections to servers
}

// use is the use of a server's connection by a session.
type use struct {
	server *server
	conn   *puddle.Resource[*connection]
	spoilt bool // it must not be used again; guarded by the session's mutex
}

// statement is a prepared statement: of a server, or one that the proxy answers.
type statement struct {
	use    *use
	number uint32 // in the server
	names  []string
	rows   [][]string // of an answer; NULL is "\x00"
	zone   bool       // it sets the time zone, and so the label
}

func newSession(p *Proxy, client *wire, number uint32) *session {
	return &session{
		proxy: p, client: client, number: number, statements: map[uint32]*statement{},
		uses: map[*server]*use{},
	}
}

// serve answers commands until DuckDB ends the connection. Another goroutine reads them,
// which notices that end while a server is busy.
func (s *session) serve() error {
	commands, done := make(chan []byte), make(chan struct{})
	var reader sync.WaitGroup
	var readErr error
	in := *s.client
	reader.Go(func() {
		defer close(commands)
		for {
			p, err := in.read()
			if err != nil || len(p) == 0 || p[0] == commandQuit {
				if err != nil {
					s.interrupt()
				}
				readErr = err
				return
			}
			select {
			case commands <- p:
			case <-done:
				return
			}
		}
	})
	var err error
	for p := range commands {
		s.client.number = 1
		if err = s.answer(p[0], p[1:]); err != nil {
			break
		}
	}
	close(done)
	s.client.Close()
	reader.Wait()
	s.release(err == nil)
	return errors.Join(err, readErr)
}

// answer answers a command. An error ends the session.
func (s *session) answer(kind byte, text []byte) error {
	var err error
	switch kind {
	case commandQuery:
		err = s.query(strings.TrimSpace(string(text)))
	case commandPrepare:
		err = s.prepare(strings.TrimSpace(string(text)))
	case commandExecute:
		err = s.execute(text)
	case commandClose:
		return s.close(text)
	case commandPing, commandUse, commandReset:
		return s.client.write(okPacket())
	default:
		err = notSupported("command " + strconv.Itoa(int(kind)))
	}
	var refusal *serverError
	if f := (*fault.Fault)(nil); errors.As(err, &f) {
		err = &serverError{unknownError, "HY000", f.Error()}
	}
	if errors.As(err, &refusal) {
		return s.client.write(errorPacket(refusal))
	}
	return err
}

func notSupported(what string) error {
	return &serverError{unsupported, "42000", "the proxy does not support: " + truncate.Ellipsis(what, 200)}
}

// query answers a statement without rows.
func (s *session) query(sql string) error {
	words := strings.Fields(strings.ToUpper(strings.TrimRight(sql, "; ")))
	if len(words) == 0 {
		return notSupported(sql)
	}
	switch words[0] {
	case "SET": // names and the like are those of settings
	case "START":
		s.begin = sql
	case "COMMIT", "ROLLBACK":
		s.begin = ""
		s.release(true)
	case "KILL":
		if n, err := strconv.ParseUint(words[len(words)-1], 10, 32); err == nil {
			s.proxy.interrupt(uint32(n))
		}
	default:
		return notSupported(sql)
	}
	return s.client.write(okPacket())
}

// catalogColumns are the columns of the answer to what the extension asks for the columns
// of a table.
var catalogColumns = []string{
	"table_name", "column_name", "data_type", "column_type", "column_default", "is_nullable",
	"numeric_precision", "numeric_scale", "table_comment", "column_comment",
}

// prepare prepares a statement.
func (s *session) prepare(sql string) error {
	relation, server := s.proxy.named(sql)
	upper := strings.ToUpper(sql)
	switch {
	case strings.HasPrefix(upper, "SET TIME_ZONE"):
		return s.prepared(&statement{zone: true})
	case upper == "SELECT 1", strings.HasPrefix(upper, "SELECT REPEAT("): // ATTACH measures the time
		return s.prepared(&statement{names: []string{"x"}, rows: [][]string{{"1"}}})
	case relation != nil && strings.HasPrefix(upper, "CREATE SCHEMA "): // see [relation.create]
		return s.prepared(&statement{})
	case strings.Contains(upper, "INFORMATION_SCHEMA.SCHEMATA"):
		return s.prepared(&statement{names: []string{"schema_name"}, rows: s.proxy.schemas()})
	case strings.Contains(upper, "INFORMATION_SCHEMA.COLUMNS"):
		st := &statement{names: catalogColumns}
		if relation != nil {
			st.rows = relation.table.catalog()
		}
		return s.prepared(st)
	case relation == nil:
		return notSupported(sql)
	case server == nil:
		return &serverError{unknownDatabase, "42000", "the dataset is no longer served"}
	}
	sql, err := relation.rewrite(sql)
	if err != nil {
		return err
	}
	use, err := s.use(server)
	if err != nil {
		return err
	}
	return s.forward(use, sql)
}

// prepared answers that a statement of the proxy is prepared.
func (s *session) prepared(st *statement) error {
	if err := s.add(st); err != nil {
		return err
	}
	params := 0
	if st.zone {
		params = 1
	}
	head := binary.LittleEndian.AppendUint32([]byte{kindOK}, s.serial)
	head = append(head, byte(len(st.names)), 0, byte(params), 0, 0, 0, 0)
	packets := [][]byte{head}
	if params > 0 {
		packets = append(packets, definition("?"), eofPacket())
	}
	if len(st.names) > 0 {
		packets = append(packets, definitions(st.names)...)
	}
	return s.client.write(packets...)
}

const maxStatements = 1000 // of a session

func (s *session) add(st *statement) error {
	if len(s.statements) == maxStatements {
		return notSupported("more prepared statements")
	}
	s.serial++
	s.statements[s.serial] = st
	return nil
}

// Types of columns.
const (
	typeNumber = 0x08 // of 8 bytes
	typeText   = 0xfd
)

// typeOf is the type of a column of a statement of the proxy.
func typeOf(name string) byte {
	if strings.HasPrefix(name, "numeric_") {
		return typeNumber
	}
	return typeText
}

// definition is the definition of a column.
func definition(name string) []byte {
	var out []byte
	for _, text := range []string{"def", "", "", "", name, ""} {
		out = appendText(out, text)
	}
	out = append(out, 0x0c, utf8mb4, 0)
	out = binary.LittleEndian.AppendUint32(out, 1<<16)
	return append(out, typeOf(name), 0, 0, 0, 0, 0)
}

func definitions(names []string) (packets [][]byte) {
	for _, name := range names {
		packets = append(packets, definition(name))
	}
	return append(packets, eofPacket())
}

// null is NULL in the rows of a statement of the proxy.
const null = "\x00"

// execute executes a prepared statement.
func (s *session) execute(p []byte) error {
	c := cursor{rest: p}
	st := s.statements[c.uint32()]
	switch {
	case st == nil || c.bad:
		return errPacket
	case st.zone:
		c.take(1 + 4 + 1 + 1 + 2) // flags, iterations, NULLs, and the type of one param
		given := c.text()
		s.mu.Lock()
		s.label = given
		s.mu.Unlock()
		return s.client.write(okPacket())
	case st.use == nil && st.names == nil:
		return s.client.write(okPacket())
	case st.use == nil:
		packets := append([][]byte{appendLength(nil, len(st.names))}, definitions(st.names)...)
		for _, row := range st.rows {
			packets = append(packets, binaryRow(st.names, row))
		}
		return s.client.write(append(packets, eofPacket())...)
	}
	server := st.use.conn.Value()
	if err := server.command(append(binary.LittleEndian.AppendUint32([]byte{commandExecute}, st.number),
		c.rest...)); err != nil {
		return s.lost(st.use)
	}
	if s.buffer == nil {
		s.buffer = make([]byte, bufferSize)
	}
	fromServer, toClient := copyResult(s.client, server.in, s.buffer)
	if fromServer != nil {
		return s.lost(st.use)
	}
	if toClient != nil {
		s.interrupt()
	}
	return toClient
}

// lost returns the error of a server that ended the connection.
func (s *session) lost(u *use) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.spoilt = true
	u.server.Reset() // it may have ended all
	return &serverError{unknownError, "HY000", errEnded.Error()}
}

// binaryRow is a row as prepared statements have it.
func binaryRow(names, row []string) []byte {
	nulls := make([]byte, (len(row)+7+2)/8)
	var values []byte
	for i, v := range row {
		switch {
		case v == null:
			nulls[(i+2)/8] |= 1 << ((i + 2) % 8)
		case typeOf(names[i]) == typeNumber:
			n, _ := strconv.ParseUint(v, 10, 64) // the server wrote it
			values = binary.LittleEndian.AppendUint64(values, n)
		default:
			values = appendText(values, v)
		}
	}
	return append(append([]byte{kindOK}, nulls...), values...)
}

// close closes a prepared statement. It has no answer.
func (s *session) close(p []byte) error {
	c := cursor{rest: p}
	number := c.uint32()
	st := s.statements[number]
	delete(s.statements, number)
	if st == nil || st.use == nil {
		return nil
	}
	if err := st.use.conn.Value().command(binary.LittleEndian.AppendUint32([]byte{commandClose}, st.number)); err != nil {
		s.lost(st.use) //nolint:errcheck // the next command has the error
	}
	return nil
}

// use returns the session's connection to a server, in the transaction.
func (s *session) use(server *server) (*use, error) {
	s.mu.Lock()
	u := s.uses[server]
	s.mu.Unlock()
	if u != nil {
		return u, nil
	}
	conn, err := server.Acquire(context.Background())
	if err != nil {
		return nil, err
	}
	u = &use{server: server, conn: conn}
	s.mu.Lock()
	s.uses[server] = u
	s.mu.Unlock()
	if s.begin == "" {
		return u, nil
	}
	err = conn.Value().within(dbproxy.ConnectLimit, func() error {
		if server.written.Load() { // a write reads rows again when it has locked them
			if err := conn.Value().do(commandQuery, readCommitted); err != nil {
				return err
			}
		}
		return conn.Value().do(commandQuery, s.begin)
	})
	if refusal := (*serverError)(nil); err != nil && !errors.As(err, &refusal) {
		return nil, s.lost(u)
	}
	return u, err
}

// forward prepares a statement in a server, and answers with DuckDB's number of it.
func (s *session) forward(u *use, sql string) error {
	server := u.conn.Value()
	if err := server.command(append([]byte{commandPrepare}, sql...)); err != nil {
		return s.lost(u)
	}
	p, err := server.read()
	switch {
	case err != nil:
		return s.lost(u)
	case len(p) > 0 && p[0] == kindError:
		return parseError(p)
	}
	c := cursor{rest: p}
	c.take(1)
	st := &statement{use: u, number: c.uint32()}
	width, params := int(c.uint16()), int(c.uint16())
	if c.bad || params > 0 || width > maxColumns {
		return errPacket
	}
	if err := s.add(st); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(p[1:], s.serial)
	packets := [][]byte{p}
	for range width + min(width, 1) { // the definitions and their end
		p, err := server.read()
		if err != nil {
			return s.lost(u)
		}
		packets = append(packets, p)
	}
	return s.client.write(packets...)
}

func (s *session) is(label string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.label == label
}

// interrupt ends what servers do for the session. Their connections are not used again:
// it may come late.
func (s *session) interrupt() {
	var uses []*use
	s.mu.Lock()
	for _, u := range s.uses {
		if !u.spoilt {
			u.spoilt = true
			uses = append(uses, u)
		}
	}
	s.mu.Unlock()
	for _, u := range uses {
		if err := u.server.kill(u.conn.Value().thread); err != nil {
			u.conn.Value().SetDeadline(past) // so that no one waits for it
		}
	}
}

// release gives the connections to servers back.
func (s *session) release(reusable bool) {
	s.mu.Lock()
	uses := s.uses
	s.uses = map[*server]*use{}
	for _, u := range uses {
		u.spoilt = u.spoilt || !reusable
	}
	s.mu.Unlock()
	clear(s.statements)
	for _, u := range uses {
		if u.spoilt { // no one else has it any more
			u.conn.Destroy()
		} else {
			u.server.giveBack(u.conn)
		}
	}
}

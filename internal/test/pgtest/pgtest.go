// Package pgtest starts PostgreSQL servers for tests, on 127.0.0.1 and with files of their
// own. A test skips where PostgreSQL is not installed, or package clients skips it.
//
//	server := pgtest.Start(t)
//	server.Exec("CREATE TABLE orders (id bigint)", "GRANT SELECT ON orders TO reader")
package pgtest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/program"
	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// The role that tests connect as, in addition to the superuser postgres, and its password.
const (
	Reader   = "reader"
	Password = "reader's pass\\word"
)

// Server is a server with the database test. Superusers connect without a password,
// others with one.
type Server struct {
	Port        int
	Certificate string // file; TLS is offered in addition to plain connections

	t       testing.TB
	bin     string // folder of the programs
	home    *program.Home
	key     string // file
	process *program.Process
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	clients.Need(t, "POSTGRESQL")
	s := &Server{t: t, bin: programs(), Port: reserve.Port(reserve.Address(t))}
	if s.bin == "" {
		t.Skip("POSTGRESQL IS NOT TESTED AS A SOURCE: install postgresql")
	}
	if s.home = program.NewHome(t, "postgres"); s.home == nil { // it does not run as root
		t.Skip("POSTGRESQL IS NOT TESTED AS A SOURCE: there is no user postgres to run it as")
	}
	s.Certificate, s.key = s.home.Certificate()
	options := []string{
		"--no-sync", "--auth-local=trust", "--auth-host=scram-sha-256", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D",
		s.home.Path("data"),
	}
	setup := fmt.Sprintf("CREATE DATABASE test\nCREATE ROLE %s LOGIN PASSWORD '%s'\n", Reader, strings.ReplaceAll(Password, "'", "''"))
	recipe := fmt.Sprint(s.home.Run("", s.program("postgres"), "--version"), options[:len(options)-1], setup)
	s.home.Data("postgresql", recipe, func() {
		s.home.Run("", s.program("initdb"), options...)
		s.home.Run(setup, s.program("postgres"), "--single", "-F", "-D", s.home.Path("data"), "postgres")
	})
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// programs returns the folder of PostgreSQL's programs, or "".
func programs() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}

func (s *Server) program(name string) string { return filepath.Join(s.bin, name) }

// Start starts the server again, at the same port.
func (s *Server) Start() {
	s.t.Helper()
	c := s.home.Command(s.program("postgres"), "-D", s.home.Path("data"), "-c", "listen_addresses=127.0.0.1", "-c", fmt.Sprintf("port=%d", s.Port),
		"-c", "unix_socket_directories="+s.home.Dir, "-c", "fsync=off", "-c", "ssl=on", "-c", "ssl_cert_file="+s.Certificate, "-c", "ssl_key_file="+s.key)
	s.process = program.Start(s.t, c, func() error {
		c, err := s.connect("postgres")
		if err == nil {
			err = c.Close(s.t.Context())
		}
		return err
	})
}

// Stop ends the server and its connections at once: a fast shutdown.
func (s *Server) Stop() { s.process.End(syscall.SIGINT) }

// Kill ends the server without a word to its clients, as a crash does.
func (s *Server) Kill() { s.process.End(syscall.SIGQUIT) }

// Transaction is an open transaction of the superuser.
type Transaction struct {
	s *Server
	c *pgx.Conn
}

// Begin begins a transaction, which ends with the test.
func (s *Server) Begin() *Transaction {
	s.t.Helper()
	c, err := s.connect("test")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close(context.Background()) })
	tx := &Transaction{s, c}
	tx.Exec("BEGIN")
	return tx
}

// Exec runs statements in the transaction, such as COMMIT.
func (tx *Transaction) Exec(statements ...string) {
	tx.s.t.Helper()
	for _, sql := range statements {
		if _, err := tx.c.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			tx.s.t.Fatalf("%s: %v", sql, err)
		}
	}
}

func (s *Server) connect(database string) (*pgx.Conn, error) {
	return pgx.Connect(context.Background(), s.Superuser(database))
}

// Superuser is how the superuser connects to a database.
func (s *Server) Superuser(database string) string {
	return fmt.Sprintf("host='%s' port=%d user=postgres dbname=%s sslmode=disable", s.home.Dir, s.Port, database)
}

// Exec runs statements as the superuser.
func (s *Server) Exec(statements ...string) {
	s.t.Helper()
	s.On("test", statements...)
}

// Value returns the first value of a query of the superuser, as text.
func (s *Server) Value(query string) (value string) {
	s.t.Helper()
	c, err := s.connect("test")
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.QueryRow(context.Background(), "SELECT ("+query+")::text").Scan(&value); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return value
}

// On runs statements as the superuser in a database.
func (s *Server) On(database string, statements ...string) {
	s.t.Helper()
	c, err := s.connect(database)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, sql := range statements {
		if _, err := c.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			s.t.Fatalf("%s: %v", sql, err)
		}
	}
}

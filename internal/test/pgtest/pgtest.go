// Package pgtest starts PostgreSQL servers for tests, on 127.0.0.1 and with files of their
// own. A test skips, saying so, where PostgreSQL is not installed.
//
//	server := pgtest.Start(t)
//	server.Exec("CREATE TABLE orders (id bigint)", "GRANT SELECT ON orders TO reader")
package pgtest

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spiced-sql/spiced/internal/test/reserve"
	"github.com/spiced-sql/spiced/internal/test/selfsigned"
)

// The role that tests connect as, beside the superuser postgres, and its password.
const (
	Reader   = "reader"
	Password = "reader's pass\\word"
)

// Server is a server with the database test. Superusers connect without a password,
// others with one.
type Server struct {
	Port        int
	Certificate string // file; TLS is offered beside plain connections

	t       testing.TB
	dir     string
	bin     string // folder of the programs
	run     *syscall.Credential
	process *exec.Cmd
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: programs()}
	if s.bin == "" {
		t.Skip("POSTGRESQL IS NOT TESTED AS A SOURCE: install postgresql")
	}
	if os.Getuid() == 0 { // it does not run as root
		if s.run = credential("postgres"); s.run == nil {
			t.Skip("POSTGRESQL IS NOT TESTED AS A SOURCE: there is no user postgres to run it as")
		}
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "spiced-pgtest-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	s.writeCertificate()
	s.command("initdb", "--no-sync", "--auth-local=trust", "--auth-host=scram-sha-256", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D", s.path("data"))
	s.Start()
	t.Cleanup(s.Stop)
	s.On("postgres", "CREATE DATABASE test", fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", Reader, strings.ReplaceAll(Password, "'", "''")))
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

func credential(name string) *syscall.Credential {
	u, err := user.Lookup(name)
	if err != nil {
		return nil
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

// writeCertificate writes what the server needs for TLS.
func (s *Server) writeCertificate() {
	s.t.Helper()
	c := selfsigned.Certificate(s.t)
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Certificate = s.path("server.crt")
	for path, block := range map[string]*pem.Block{
		s.Certificate:        {Type: "CERTIFICATE", Bytes: c.Certificate[0]},
		s.path("server.key"): {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			s.t.Fatal(err)
		}
		s.own(path)
	}
	s.own(s.dir)
}

// own gives a file to the user that the server runs as.
func (s *Server) own(path string) {
	if s.run == nil {
		return
	}
	if err := os.Chown(path, int(s.run.Uid), int(s.run.Gid)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) prepare(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir, c.Env = s.dir, []string{"LC_ALL=C", "TZ=UTC"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.run}
	return c
}

func (s *Server) command(name string, args ...string) {
	s.t.Helper()
	if out, err := s.prepare(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Start starts the server again, at the same port.
func (s *Server) Start() {
	s.t.Helper()
	if s.Port == 0 {
		s.Port = reserve.Port(reserve.Address(s.t))
	}
	var log bytes.Buffer
	s.process = s.prepare("postgres", "-D", s.path("data"), "-c", "listen_addresses=127.0.0.1", "-c", fmt.Sprintf("port=%d", s.Port),
		"-c", "unix_socket_directories="+s.dir, "-c", "fsync=off", "-c", "ssl=on", "-c", "ssl_cert_file="+s.Certificate, "-c", "ssl_key_file="+s.path("server.key"))
	s.process.Stdout, s.process.Stderr = &log, &log
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; {
		if c, err := s.connect("postgres"); err == nil {
			c.Close(s.t.Context())
			return
		} else if time.Now().After(end) {
			s.process.Process.Kill()
			s.process.Wait()
			s.t.Fatalf("PostgreSQL does not start: %v\n%s", err, &log)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Stop ends the server and its connections at once.
func (s *Server) Stop() {
	if s.process == nil {
		return
	}
	s.process.Process.Signal(syscall.SIGINT) // a fast shutdown
	s.process.Wait()
	s.process = nil
}

// Kill ends the server without a word to its clients, as a crash does.
func (s *Server) Kill() {
	s.process.Process.Signal(syscall.SIGQUIT)
	s.process.Wait()
	s.process = nil
}

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
	return pgx.Connect(context.Background(), fmt.Sprintf("host='%s' port=%d user=postgres dbname=%s sslmode=disable", s.dir, s.Port, database))
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

// Package mysqltest starts MariaDB servers for tests, on 127.0.0.1 and with files of their
// own. A test skips where MariaDB is not installed, or package clients skips it.
//
//	server := mysqltest.Start(t)
//	server.Exec("CREATE TABLE orders (id bigint)", "GRANT SELECT ON test.orders TO reader")
package mysqltest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/program"
	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// The user that tests connect as, in addition to root, and its password.
const (
	Reader   = "reader"
	Password = "reader's pass\\word"
)

// Server is a server with the database test. root connects without a password at its
// socket, others with one.
type Server struct {
	Port        int
	Socket      string // path
	Certificate string // file; TLS is offered in addition to plain connections, unless the server was started without

	t       testing.TB
	home    *program.Home
	command []string // of the server
	process *program.Process

	mu      sync.Mutex
	queries *Session // of Value; nil: none yet
}

// Start starts a server that ends with the test. Options are those of its command line.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	clients.Need(t, "MARIADB")
	for _, program := range []string{"mariadbd", "mariadb-install-db", "mariadb"} {
		if find(program) == "" {
			t.Skip("MYSQL IS NOT TESTED AS A SOURCE: install mariadb-server")
		}
	}
	s := &Server{t: t, Port: reserve.Port(reserve.Address(t))}
	if s.home = program.NewHome(t, "mysql"); s.home == nil { // it does not run as root
		t.Skip("MYSQL IS NOT TESTED AS A SOURCE: there is no user mysql to run it as")
	}
	s.Socket = s.home.Path("socket")
	data := []string{"--no-defaults", "--datadir=" + s.home.Path("data"), "--innodb-use-native-aio=0", "--innodb-log-file-size=8M"}
	install := append(data, "--auth-root-authentication-method=normal", "--skip-test-db")
	setup := fmt.Sprintf("CREATE DATABASE test CHARACTER SET utf8mb4;\nFLUSH PRIVILEGES;\nCREATE USER %s IDENTIFIED BY '%s';\n", Reader,
		strings.NewReplacer(`\`, `\\`, "'", "''").Replace(Password))
	s.home.Data("mariadb", fmt.Sprint(s.home.Run("", find("mariadbd"), "--version"), install[2:], setup), func() {
		s.home.Run("", find("mariadb-install-db"), install...)
		s.home.Run(setup, find("mariadbd"), append(data, "--bootstrap")...)
	})
	certificate, key := s.home.Certificate()
	s.Certificate = certificate
	s.command = slices.Concat(data, []string{
		"--socket=" + s.Socket, fmt.Sprintf("--port=%d", s.Port), "--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-flush-method=nosync",
		"--general-log=1", "--general-log-file=" + s.home.Path("general.log"), "--ssl-cert=" + certificate, "--ssl-key=" + key,
	}, options)
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// find returns the path of a program, which may be in a folder for administrators.
func find(program string) string {
	for _, name := range []string{program, "/usr/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Start starts the server again, at the same port.
func (s *Server) Start() {
	s.t.Helper()
	s.process = program.Start(s.t, s.home.Command(find("mariadbd"), s.command...), func() error {
		_, err := s.client("", "SELECT 1")
		return err
	})
}

// Stop ends the server and its connections. A shutdown would wait for statements.
func (s *Server) Stop() {
	s.mu.Lock()
	s.queries.end()
	s.queries = nil
	s.mu.Unlock()
	s.process.End(syscall.SIGKILL)
}

// client runs statements with the server's own client.
func (s *Server) client(database, sql string) (string, error) {
	args := []string{"--no-defaults", "--socket=" + s.Socket, "--user=root", "--batch", "--skip-column-names", "--raw", "--default-character-set=utf8mb4"}
	if database != "" {
		args = append(args, database)
	}
	c := s.home.Command(find("mariadb"), args...)
	var out, failure bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(sql), &out, &failure
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, &failure)
	}
	return out.String(), nil
}

// Exec runs statements as root.
func (s *Server) Exec(statements ...string) {
	s.t.Helper()
	s.on("test", statements...)
}

func (s *Server) on(database string, statements ...string) {
	s.t.Helper()
	if _, err := s.client(database, "SET sql_mode = '';"+strings.Join(statements, ";\n")+";\nFLUSH PRIVILEGES"); err != nil {
		s.t.Fatalf("%.1000s: %v", strings.Join(statements, ";\n"), err)
	}
}

// Value returns what a query of root selects, as the server's client writes it. All of them
// are in one session, since the start of a client takes longer than a query.
func (s *Server) Value(query string) string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queries == nil {
		s.queries = s.session("--raw")
	}
	out, err := s.queries.run("SET time_zone = '+00:00';" + query)
	if err != nil {
		s.queries.end()
		s.queries = nil
		s.t.Fatalf("%s: %v", query, err)
	}
	return strings.TrimSuffix(out, "\n")
}

// Log returns the statements that the server got.
func (s *Server) Log() string {
	s.t.Helper()
	text, err := os.ReadFile(s.home.Path("general.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// Session is a client of root that keeps its connection.
type Session struct {
	t       testing.TB
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	failure bytes.Buffer // read after the process has ended
	serial  int
}

// session starts a client, which ends with the test.
func (s *Server) session(options ...string) *Session {
	s.t.Helper()
	args := append([]string{
		"--no-defaults", "--socket=" + s.Socket, "--user=root", "--batch", "--skip-column-names", "--unbuffered",
		"--default-character-set=utf8mb4",
	}, options...)
	session := &Session{t: s.t, process: s.home.Command(find("mariadb"), append(args, "test")...)}
	session.process.Stderr = &session.failure
	var out io.ReadCloser
	var err error
	if session.in, err = session.process.StdinPipe(); err == nil {
		out, err = session.process.StdoutPipe()
	}
	if err == nil {
		err = session.process.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	session.out = bufio.NewReader(out)
	s.t.Cleanup(session.end)
	return session
}

// end ends the client.
func (s *Session) end() {
	if s == nil || s.process.ProcessState != nil {
		return
	}
	s.in.Close()
	s.process.Process.Kill()
	s.process.Wait()
}

// Begin begins a transaction of root. It ends with the test.
func (s *Server) Begin() *Session {
	s.t.Helper()
	session := s.session()
	session.Exec("START TRANSACTION")
	return session
}

// Exec runs statements, which must not fail, and waits for their end.
func (s *Session) Exec(statements ...string) {
	s.t.Helper()
	if _, err := s.run(strings.Join(statements, ";\n")); err != nil {
		s.t.Fatalf("%s: %v", statements, err)
	}
}

// run runs statements and returns what the client writes.
func (s *Session) run(sql string) (string, error) {
	s.serial++
	end := fmt.Sprintf("end %d of %p\n", s.serial, s)
	fmt.Fprintf(s.in, "%s;\nSELECT '%s';\n", strings.TrimRight(sql, "; \n"), strings.TrimSuffix(end, "\n"))
	var out strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.end()
			return "", fmt.Errorf("the client has ended: %w: %s", err, &s.failure)
		}
		if line == end {
			return out.String(), nil
		}
		out.WriteString(line)
	}
}

// Package mysqltest starts MariaDB servers for tests, on 127.0.0.1 and with files of their
// own. A test skips, saying so, where MariaDB is not installed.
//
//	server := mysqltest.Start(t)
//	server.Exec("CREATE TABLE orders (id bigint)", "GRANT SELECT ON test.orders TO reader")
package mysqltest

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/reserve"
	"github.com/spiced-sql/spiced/internal/test/selfsigned"
)

// The user that tests connect as, beside root, and its password.
const (
	Reader   = "reader"
	Password = "reader's pass\\word"
)

// Server is a server with the database test. root connects without a password at its
// socket, others with one.
type Server struct {
	Port        int
	Socket      string // path
	Certificate string // file; TLS is offered beside plain connections, unless the server was started without

	t       testing.TB
	dir     string
	options []string
	run     *syscall.Credential
	process *exec.Cmd

	mu      sync.Mutex
	queries *Session // of Value; nil: none yet
}

// Start starts a server that ends with the test. Options are those of its command line.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	s := &Server{t: t, options: options}
	for _, program := range []string{"mariadbd", "mariadb-install-db", "mariadb"} {
		if find(program) == "" {
			t.Skip("MYSQL IS NOT TESTED AS A SOURCE: install mariadb-server")
		}
	}
	if os.Getuid() == 0 { // it does not run as root
		if s.run = credential("mysql"); s.run == nil {
			t.Skip("MYSQL IS NOT TESTED AS A SOURCE: there is no user mysql to run it as")
		}
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "spiced-mysqltest-"); err != nil {
		t.Fatal(err)
	}
	s.Socket = s.path("socket")
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	s.writeCertificate()
	install := s.prepare("mariadb-install-db", "--no-defaults", "--datadir="+s.path("data"), "--innodb-use-native-aio=0", "--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=8M")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	s.Start()
	t.Cleanup(s.Stop)
	s.on("", "CREATE DATABASE test CHARACTER SET utf8mb4", fmt.Sprintf("CREATE USER %s IDENTIFIED BY '%s'", Reader, strings.NewReplacer(`\`, `\\`, "'", "''").Replace(Password)))
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

func (s *Server) prepare(program string, args ...string) *exec.Cmd {
	c := exec.Command(find(program), args...)
	c.Dir, c.Env = s.dir, []string{"LC_ALL=C.UTF-8", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.run}
	return c
}

// Start starts the server again, at the same port.
func (s *Server) Start() {
	s.t.Helper()
	if s.Port == 0 {
		s.Port = reserve.Port(reserve.Address(s.t))
	}
	var log bytes.Buffer
	s.process = s.prepare("mariadbd", append([]string{
		"--no-defaults", "--datadir=" + s.path("data"), "--innodb-use-native-aio=0", "--socket=" + s.Socket, fmt.Sprintf("--port=%d", s.Port), "--bind-address=127.0.0.1", "--skip-name-resolve",
		"--innodb-flush-method=nosync", "--innodb-log-file-size=8M", "--general-log=1", "--general-log-file=" + s.path("general.log"),
		"--ssl-cert=" + s.Certificate, "--ssl-key=" + s.path("server.key"),
	}, s.options...)...)
	s.process.Stdout, s.process.Stderr = &log, &log
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; {
		if _, err := s.client("", "SELECT 1"); err == nil {
			return
		} else if time.Now().After(end) {
			s.process.Process.Kill()
			s.process.Wait()
			s.t.Fatalf("MariaDB does not start: %v\n%s", err, &log)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// Stop ends the server and its connections.
func (s *Server) Stop() {
	if s.process == nil {
		return
	}
	s.mu.Lock()
	s.queries.end()
	s.queries = nil
	s.mu.Unlock()
	s.process.Process.Kill() // a shutdown would wait for statements
	s.process.Wait()
	s.process = nil
}

// client runs statements with the server's own client.
func (s *Server) client(database, sql string) (string, error) {
	args := []string{"--no-defaults", "--socket=" + s.Socket, "--user=root", "--batch", "--skip-column-names", "--raw", "--default-character-set=utf8mb4"}
	if database != "" {
		args = append(args, database)
	}
	c := s.prepare("mariadb", args...)
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
	text, err := os.ReadFile(s.path("general.log"))
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
	args := append([]string{"--no-defaults", "--socket=" + s.Socket, "--user=root", "--batch", "--skip-column-names", "--unbuffered", "--default-character-set=utf8mb4"}, options...)
	session := &Session{t: s.t, process: s.prepare("mariadb", append(args, "test")...)}
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

package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/clients"
)

// pythons are where a Python may be that has the drivers: the one on the path,
// and the system's, for which distributions package them.
var pythons = []string{"python3", "/usr/bin/python3"}

// TestPsycopg has a session of each version of psycopg that is here.
func TestPsycopg(t *testing.T) {
	t.Parallel()
	for module, name := range map[string]string{"psycopg": "psycopg3", "psycopg2": "psycopg2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			python := pythonWith(t, module)
			p := startSQL(t)
			wantSession(t, name+".txt", libpq(t, p, readerKey), python, "session_"+name+".py")
		})
	}
}

// TestAsyncpg has a session of asyncpg, which encodes values by the types that
// the server tells and asks the catalog about those that it does not know.
func TestAsyncpg(t *testing.T) {
	t.Parallel()
	python := pythonWith(t, "asyncpg")
	p := startSQL(t)
	wantSession(t, "asyncpg.txt", libpq(t, p, readerKey), python, "session_asyncpg.py")
}

// pythonWith is a Python that has a module.
func pythonWith(t *testing.T, module string) string {
	t.Helper()
	clients.Need(t, module)
	for _, python := range pythons {
		if exec.Command(python, "-c", "import "+module).Run() == nil {
			return python
		}
	}
	t.Skipf("%s IS NOT TESTED: no Python here has it: install python3-%[1]s", module)
	return ""
}

const (
	jdk        = "default-jdk-headless"
	jdbcDriver = "/usr/share/java/postgresql.jar" // where distributions put it
)

// TestJDBC has a session of PostgreSQL's driver for Java.
func TestJDBC(t *testing.T) {
	t.Parallel()
	java := clients.Installed(t, "JDBC", "java", jdk)
	clients.Installed(t, "JDBC", "javac", jdk) // java compiles the session with it
	if _, err := os.Stat(jdbcDriver); err != nil {
		t.Skipf("JDBC IS NOT TESTED: install libpostgresql-jdbc-java: %v", err)
	}
	p := startSQL(t)
	url := "jdbc:postgresql://" + p.address("postgres") + "/spice"
	wantSession(t, "jdbc.txt", nil, java, "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-cp", jdbcDriver, "Session.java",
		url, readerKey)
}

// TestFlightJDBC has a session of Flight SQL's driver for Java.
func TestFlightJDBC(t *testing.T) {
	t.Parallel()
	java := clients.Installed(t, "Flight SQL by JDBC", "java", jdk)
	clients.Installed(t, "Flight SQL by JDBC", "javac", jdk)
	driver := clients.Find(t, "FLIGHT SQL BY JDBC", "jdbc/flight-sql-jdbc-driver-18.3.0.jar")
	p := start(t, keyed(t), sqlProtocols()...)
	wantSession(t, "flight-jdbc.txt", nil, java, "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8",
		"--add-opens=java.base/java.nio=ALL-UNNAMED", "-Djava.util.logging.config.file=/dev/null", // Arrow's allocator logs its choice
		"-cp", driver, "FlightSession.java", p.address("flight"), writerKey)
}

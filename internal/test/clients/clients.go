// Package clients finds programs of others that tests use as clients and servers: psql,
// PostgreSQL, drivers for Python, packages of npm. A test uses them only where
// SPICED_TEST_CLIENTS is set, as .ci/run sets it, so that go test ./... runs the same tests on
// each machine, without anything that was installed by hand. Elsewhere the test skips and
// names what is not tested.
//
//	psql := clients.Installed(t, "psql", "psql", "postgresql-client")
//	moto := clients.Find(t, "S3", "moto/bin/moto_server")
package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Variable is the environment variable with the folder of the programs that .ci/run installs:
// virtual environments of Python, named as the files requirements-*.txt in
// cmd/spiced/testdata/sqlclients, and packages of npm.
const Variable = "SPICED_TEST_CLIENTS"

// Need skips the test where programs of others are not used. Commands such as difftest always
// use them.
func Need(t testing.TB, what string) {
	t.Helper()
	if testing.Testing() && os.Getenv(Variable) == "" {
		t.Skipf("%s IS NOT TESTED: %s is not set", what, Variable)
	}
}

// Find returns the path of a program in the folder that [Variable] names.
func Find(t testing.TB, what, program string) string {
	t.Helper()
	Need(t, what)
	path := filepath.Join(os.Getenv(Variable), filepath.FromSlash(program))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s IS NOT TESTED: there is no %s in the folder that %s names", what, program, Variable)
	}
	return path
}

// Installed returns the path of a program of the machine, which a package of Debian has.
func Installed(t testing.TB, what, program, pkg string) string {
	t.Helper()
	Need(t, what)
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s IS NOT TESTED: there is no %s here: install %s", what, program, pkg)
	}
	return path
}

package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/azuretest"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
)

// TestDatasetAddMySQL adds datasets of a MySQL server, and serves them.
func TestDatasetAddMySQL(t *testing.T) {
	t.Parallel()
	directory := filepath.Dir(exttest.Find(t, "mysql_scanner").Path)
	database := mysqltest.Start(t)
	database.Exec("CREATE TABLE orders (id bigint, customer text)", "INSERT INTO orders VALUES (1, 'ada'), (2, 'bob')", "CREATE TABLE `Other lines` (id bigint)",
		"GRANT SELECT ON test.* TO reader")
	dir := folder(t, "spicepod.yaml", strings.Replace(emptyPod, "EXTENSIONS", directory, 1))
	server := fmt.Sprintf("mysql://%s@127.0.0.1:%d/test", url.UserPassword(mysqltest.Reader, mysqltest.Password), database.Port)
	entry := func(from, name, variable, more string) string {
		return fmt.Sprintf("  - from: mysql:%s\n    name: %s\n    params:\n      mysql_host: 127.0.0.1\n      mysql_tcp_port: %d\n      mysql_db: test\n "+
			"     mysql_user: reader\n      mysql_pass: ${env:%s}\n%s", from, name, database.Port, variable, more)
	}
	want := read(t, filepath.Join(dir, "spicepod.yaml")) + "datasets:\n"
	for _, c := range []struct {
		args  []string
		entry string
	}{
		{[]string{server, "orders"}, entry("orders", "orders", "ORDERS_MYSQL_PASS", "")},
		{
			[]string{server + "?ssl-mode=REQUIRED", `test."Other lines"`},
			entry(`test."Other lines"`, "other_lines", "ORDERS_MYSQL_PASS", "      mysql_sslmode: required\n"),
		},
		{
			[]string{strings.Replace(server, "mysql:", "mariadb:", 1), "orders", "--name", "copied", "--accelerate"},
			entry("orders", "copied", "ORDERS_MYSQL_PASS", "    acceleration:\n      enabled: true\n"),
		},
	} {
		status, out := spiced(t, append([]string{"dataset", "add", "--dir", dir}, c.args...)...)
		if status != 0 || !strings.Contains(out, "COLUMN") || !strings.Contains(out, "| id") || strings.Contains(out, mysqltest.Password) {
			t.Fatalf("%q: status %d\n%s", c.args, status, out)
		}
		want += c.entry
	}
	got := read(t, filepath.Join(dir, "spicepod.yaml"))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if env := read(t, filepath.Join(dir, ".env.local")); strings.Count(env, "ORDERS_MYSQL_PASS=") != 1 {
		t.Errorf(".env.local has\n%s", env)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{server, "order"}, `hint: did you mean "orders"`},
		{[]string{server}, "the table is missing"},
		{[]string{server + "?timeout=3", "orders"}, `the URL has the option "timeout", which has no param`},
		{[]string{strings.Replace(server, "reader:", "reader:x", 1), "orders"}, "Access denied"},
		{[]string{strings.Replace(server, "/test", "/tset", 1), "orders"}, "tset"},
		{[]string{"mysql://reader:a/b@127.0.0.1/test", "orders"}, "the URL cannot be read"},
		{[]string{"mysql:orders", "orders"}, "write the table once"},
	} {
		status, out := spiced(t, append([]string{"dataset", "add", "--dir", dir, "--name", "another"}, c.args...)...)
		if status == 0 || !strings.Contains(out, c.want) || strings.Contains(out, "reader's") {
			t.Errorf("%q: status %d\n%s\nwant %s", c.args, status, out, c.want)
		}
	}
	if read(t, filepath.Join(dir, "spicepod.yaml")) != got {
		t.Error("a failed command has written the file")
	}
	p := start(t, dir)
	for _, name := range []string{"orders", "copied"} {
		p.want(p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM "+name), 200, `[{"n":2}]`)
	}
}

// TestDatasetAddAzure adds a dataset of an Azure container.
func TestDatasetAddAzure(t *testing.T) {
	t.Parallel()
	directory := filepath.Dir(exttest.Find(t, "httpfs").Path)
	server := azuretest.Start(t)
	server.Container("lake")
	server.Put("lake", "trips/a.csv", "id\n1\n2\n")
	dir := folder(t, "spicepod.yaml", strings.Replace(emptyPod, "EXTENSIONS", directory, 1))
	status, out := spiced(t, "dataset", "add", "--dir", dir, "abfs://lake@lakehouse/trips/", "--param", "abfs_endpoint="+server.URL, "--param",
		"abfs_access_key="+azuretest.Key)
	if status != 0 || !strings.Contains(out, "| id") || strings.Contains(out, azuretest.Key) {
		t.Fatalf("status %d\n%s", status, out)
	}
	if got := read(t, filepath.Join(dir, "spicepod.yaml")); !strings.HasSuffix(got,
		"datasets:\n  - from: abfs://lake@lakehouse/trips/\n    name: trips\n    params:\n      abfs_endpoint: "+server.URL+
			"\n      abfs_access_key: ${env:TRIPS_ABFS_ACCESS_KEY}\n") {
		t.Errorf("got %s", got)
	}
}

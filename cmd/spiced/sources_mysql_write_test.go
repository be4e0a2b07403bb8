package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
)

// TestMySQLWrites writes to a MariaDB server over HTTP and the PostgreSQL protocol.
func TestMySQLWrites(t *testing.T) {
	t.Parallel()
	directory := filepath.Dir(exttest.Find(t, "mysql_scanner").Path)
	server := mysqltest.Start(t)
	server.Exec("CREATE TABLE customers (id int PRIMARY KEY, email varchar(50) NOT NULL UNIQUE)",
		"CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, customer_id int, amount decimal(10,2) NOT NULL, note varchar(20) DEFAULT 'none', FOREIGN KEY "+
			"(customer_id) REFERENCES customers (id))",
		"CREATE TABLE wares (id int PRIMARY KEY)", "INSERT INTO customers VALUES (1, 'ann@x'), (2, 'bob@x')", "INSERT INTO orders VALUES (1, 1, 9.5, 'first')",
		"GRANT ALL ON test.* TO reader")
	params := fmt.Sprintf(`{ mysql_host: 127.0.0.1, mysql_tcp_port: %d, mysql_db: test, mysql_user: reader, mysql_pass: "${secrets:written_pass}" }`, server.Port)
	pod := strings.NewReplacer("EXTENSIONS", directory, "PARAMS", params, "postgres:", "mysql:").Replace(writtenPod + writtenCatalog)
	p := start(t, folder(t, "spicepod.yaml", pod, ".env", dotenv("WRITTEN_PASS", mysqltest.Password)), sqlProtocols()...)

	catalogWrites(t, p, "shop.test")
	sql := func(key, statement string, status int, parts ...string) {
		t.Helper()
		p.want(p.do("POST", "/v1/sql", statement, "X-API-Key", key), status, parts...)
	}
	const count = "SELECT count(*) AS n, sum(amount)::VARCHAR AS s FROM orders"
	sql(readerKey, count, 200, `[{"n":1,"s":"9.50"}]`)
	sql(writerKey, "INSERT INTO orders (customer_id, amount) VALUES (2, 1.005) RETURNING amount::VARCHAR AS a, note, twice(id) AS t",
		200, `[{"a":"1.01","note":"none","t":4}]`)
	sql(readerKey, count, 200, `[{"n":2,"s":"10.51"}]`)
	sql(writerKey, "UPDATE orders SET note = 'x' WHERE id > 1 RETURNING note", 200, `[{"note":"x"}]`)
	sql(writerKey, "INSERT INTO customers VALUES (1, 'other@x') ON CONFLICT DO NOTHING", 200, `[{"Count":0}]`)
	sql(writerKey, "DELETE FROM orders WHERE id > 1 AND customer_id IN (SELECT id FROM customers)", 200, `[{"Count":1}]`)
	sql(writerKey, "INSERT INTO orders (customer_id, amount) VALUES (3, 1)", 400, "a foreign key constraint fails")
	sql(writerKey, "INSERT INTO wares VALUES (8)", 400, `table "wares" is read-only`, "access: read_write")
	sql(readerKey, "DELETE FROM orders", 400, "DELETE statements are refused")

	c := pgxConnect(t, p, writerKey, "sslmode=disable")
	var id int64
	if err := c.QueryRow(t.Context(), "INSERT INTO orders (customer_id, amount, note) VALUES ($1, $2, $3) RETURNING id", 2, "7.25", "it's").Scan(&id); err !=
		nil || id < 2 {
		t.Errorf("got %d, %v", id, err)
	}
	_, err := c.Exec(t.Context(), "INSERT INTO customers VALUES (1, 'x')")
	wantState(t, err, "23505", 0)
	if got := server.Value("SELECT amount, note FROM orders WHERE id = " + fmt.Sprint(id)); got != "7.25\tit's" {
		t.Errorf("the server has %s", got)
	}
	p.wantNotLogged(mysqltest.Password)
}

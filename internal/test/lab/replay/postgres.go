package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresSession runs the scripts of psql, and statements with parameters in each mode of pgx.
func postgresSession(ctx context.Context, s *side) (all []exchange, err error) {
	if psql, err := exec.LookPath("psql"); err == nil {
		_, address, _ := strings.Cut(s.server.URL("postgres"), "://")
		for _, key := range []string{writerKey, readerKey} {
			c := exec.CommandContext(ctx, psql, "-X", "-a", "-v", "VERBOSITY=verbose", "postgres://user:"+key+"@"+address+"/spice?sslmode=disable",
				"-f", s.testdata("session.psql"), "-f", s.root+"/cmd/spiced/testdata/sqlclients/psql.sql")
			out, err := c.CombinedOutput()
			if err != nil && c.ProcessState == nil {
				return nil, err
			}
			// Each command, which -a repeats, is a request of its own.
			for _, part := range strings.Split(s.mask(string(out)), "\n\n") {
				request, _, _ := strings.Cut(part, "\n")
				all = append(all, exchange{key + ": psql: " + request, part})
			}
		}
	}
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		conn, notices, err := s.postgres(ctx, writerKey)
		if err != nil {
			return nil, err
		}
		for _, q := range parameters {
			rows, err := conn.Query(ctx, q.statement, append([]any{mode}, q.values...)...)
			text := ""
			if err == nil {
				for _, f := range rows.FieldDescriptions() {
					text += fmt.Sprintf("%s %d %d; ", f.Name, f.DataTypeOID, f.Format)
				}
				for rows.Next() {
					values, err := rows.Values()
					text += fmt.Sprintf("\n%+v %v", values, err)
				}
				rows.Close()
				err = rows.Err()
			}
			all = append(all, exchange{fmt.Sprint(mode, ": ", q.statement, q.values), s.mask(text + errorText(err) + notices())})
			if d, err := conn.Prepare(ctx, "", q.statement); err == nil && mode == pgx.QueryExecModeExec {
				all = append(all, exchange{"describe " + q.statement, fmt.Sprint(d.ParamOIDs, d.Fields)})
			}
		}
		var out bytes.Buffer
		for _, copied := range []string{
			"COPY people TO STDOUT", "COPY (SELECT id, born FROM people) TO STDOUT (FORMAT csv, HEADER)", "COPY (SELECT id, name FROM people) TO STDOUT (FORMAT binary)",
			"COPY nosuch TO STDOUT", "COPY people TO '/tmp/x'", "COPY (SELEC) TO STDOUT",
		} {
			out.Reset()
			tag, err := conn.PgConn().CopyTo(ctx, &out, copied)
			all = append(all, exchange{fmt.Sprint(mode, ": ", copied), s.mask(fmt.Sprintf("%q %s%s", out.String(), tag, errorText(err)))})
		}
		rows := pgx.CopyFromRows([][]any{{int64(90), "a", 1.5}, {int64(91), nil, nil}})
		n, err := conn.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id", "name", "price"}, rows)
		all = append(all, exchange{fmt.Sprint(mode, ": CopyFrom"), fmt.Sprint(n, errorText(err))})
		for _, data := range []string{"92\tx\t1\n", "x\ty\tz\n", "93\n", "90\tagain\t\\N\n", "94\tq\t1\n95\tr\tmany\n"} {
			tag, err := conn.PgConn().CopyFrom(ctx, strings.NewReader(data), "COPY orders FROM STDIN")
			all = append(all, exchange{fmt.Sprintf("%s: COPY FROM %q", mode, data), s.mask(tag.String() + errorText(err))})
		}
		_, err = conn.Exec(ctx, "DELETE FROM orders WHERE id >= 90")
		all = append(all, exchange{fmt.Sprint(mode, ": delete"), errorText(err)})
		if err := conn.Close(ctx); err != nil {
			return nil, err
		}
	}
	return all, nil
}

var day = time.Date(2026, 2, 3, 4, 5, 6, 7000, time.UTC)

// parameters are statements with values, which pgx sends in the binary form where it can.
var parameters = []struct {
	statement string
	values    []any
}{
	{"SELECT $1::INT + 1 AS x", []any{41}},
	{"SELECT $1 AS x", []any{"text"}},
	{"SELECT $1::BIGINT, $2::SMALLINT, $3::DOUBLE, $4::REAL, $5::BOOLEAN", []any{int64(1) << 60, int16(-3), 1.5, float32(0.25), true}},
	{"SELECT $1::DATE, $2::TIMESTAMP, $3::TIMESTAMPTZ", []any{day, day, day}},
	{"SELECT $1::DECIMAL(10,3), $2::UUID, $3::BLOB", []any{"12.345", "0f0e0d0c-0b0a-0908-0706-050403020100", []byte{0, 255}}},
	{"SELECT $1::BIGINT[], $2::VARCHAR[]", []any{[]int64{1, 2}, []string{"a", "b,c"}}},
	{"SELECT $1::JSON, $2::INTERVAL", []any{`{"a":1}`, 90 * time.Minute}},
	{"SELECT $1::INT, $2::VARCHAR, $3::DATE", []any{nil, nil, nil}},
	{"SELECT name FROM people WHERE id = $1", []any{2}},
	{"SELECT name FROM people WHERE id = ANY($1) ORDER BY id", []any{[]int64{1, 3}}},
	{"SELECT name FROM people WHERE name LIKE $1 ORDER BY id LIMIT $2", []any{"%o%", 1}},
	{"SELECT twice($1), greeting($2)", []any{2.5, "Ann"}},
	{"SELECT * FROM people_in($1)", []any{"Oslo"}},
	{"SELECT * FROM every_type", nil},
	{"INSERT INTO orders (id, name, price) VALUES ($1, $2, $3) RETURNING id, name, price", []any{80, "eighty", 8.5}},
	{"UPDATE orders SET price = $1 WHERE id = $2", []any{9.5, 80}},
	{"DELETE FROM orders WHERE id = $1 RETURNING *", []any{80}},
	{"SELECT $1::INT", []any{"many"}},
	{"SELECT $1 + nosuch FROM people", []any{1}},
	{"SELECT $2::INT", []any{1, 2}},
	{"SELECT fails($1)", []any{7}},
	{"SELECT luhn_python($1), luhn_wasm($1), luhn_http($1)", []any{int64(4539578763621486)}},
	{"SELECT typname FROM pg_type WHERE oid = $1", []any{uint32(20)}},
	{"SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY 1", []any{"people"}},
}

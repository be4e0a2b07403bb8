package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const arrowType = "application/vnd.apache.arrow.stream"

// arrowText is a stream of Arrow as text.
func arrowText(stream []byte) string {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return err.Error() + string(stream)
	}
	defer r.Release()
	text := r.Schema().String()
	for r.Next() {
		text += recordText(r.RecordBatch())
	}
	return fmt.Sprint(text, "\n", r.Err())
}

func recordText(r arrow.RecordBatch) string {
	rows, err := r.MarshalJSON()
	return fmt.Sprintf("\n%s %v", strings.ReplaceAll(string(rows), "},{", "},\n{"), err)
}

// path sends a statement over a protocol in one form.
type path struct {
	name string
	ask  func(ctx context.Context, statement string) string
}

// paths are those of a principal.
func (s *side) paths(ctx context.Context, key string) (all []path, closeAll func(), err error) {
	for _, accept := range []string{
		"application/json", "text/csv", "text/plain", arrowType, "application/x-ndjson", "application/vnd.spiceai.sql.v1+json",
	} {
		all = append(all, path{accept, func(ctx context.Context, statement string) string {
			return s.request(ctx, "POST /v1/sql\nX-API-Key: "+key+"\nAccept: "+accept+"\nContent-Type: text/plain\n\n"+statement)
		}})
	}
	conn, notices, err := s.postgres(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	fl, err := s.flight(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	pg := conn.PgConn()
	all = append(all,
		path{"postgres simple", func(ctx context.Context, statement string) string {
			results, err := pg.Exec(ctx, statement).ReadAll()
			text := ""
			for _, r := range results {
				text += resultText(r)
			}
			return text + errorText(err) + notices()
		}},
		path{"postgres text", func(ctx context.Context, statement string) string {
			return resultText(pg.ExecParams(ctx, statement, nil, nil, nil, nil).Read()) + notices()
		}},
		path{"postgres binary", func(ctx context.Context, statement string) string {
			return resultText(pg.ExecParams(ctx, statement, nil, nil, nil, []int16{pgx.BinaryFormatCode}).Read()) + notices()
		}},
		path{"flight", fl.execute}, path{"flight prepared", fl.prepared},
	)
	return all, func() { fl.Close(); conn.Close(context.WithoutCancel(ctx)) }, nil
}

// postgres connects. The function it returns takes the notices since it was last called.
func (s *side) postgres(ctx context.Context, key string) (*pgx.Conn, func() string, error) {
	_, address, _ := strings.Cut(s.server.URL("postgres"), "://")
	config, err := pgx.ParseConfig("postgres://user:" + key + "@" + address + "/spice?sslmode=disable")
	if err != nil {
		return nil, nil, err
	}
	notices := ""
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices += "\nnotice: " + noticeText(n) }
	conn, err := pgx.ConnectConfig(ctx, config)
	return conn, func() string { defer func() { notices = "" }(); return notices }, err
}

func resultText(r *pgconn.Result) string {
	var b strings.Builder
	for _, f := range r.FieldDescriptions {
		fmt.Fprintf(&b, "%s %d %d %d %d; ", f.Name, f.DataTypeOID, f.DataTypeSize, f.TypeModifier, f.Format)
	}
	for _, row := range r.Rows {
		b.WriteString("\n")
		for _, value := range row {
			if value == nil {
				b.WriteString("NULL | ")
			} else {
				fmt.Fprintf(&b, "%q | ", value)
			}
		}
	}
	return b.String() + "\n" + r.CommandTag.String() + errorText(r.Err)
}

func errorText(err error) string {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &pg):
		return "\nerror: " + noticeText((*pgconn.Notice)(pg))
	}
	return "\nerror: " + err.Error()
}

func noticeText(n *pgconn.Notice) string {
	return fmt.Sprintf("%s %s: %s\ndetail: %s\nhint: %s\nposition: %d\nwhere: %s %s %s %s %s", n.Severity, n.Code, n.Message, n.Detail, n.Hint,
		n.Position, n.Where, n.SchemaName, n.TableName, n.ColumnName, n.ConstraintName)
}

// send sends statements over paths.
func (s *side) send(ctx context.Context, key string, statements []string, only ...string) (all []exchange, err error) {
	paths, closeAll, err := s.paths(ctx, key)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	for _, statement := range statements {
		for _, p := range paths {
			if len(only) == 0 || slices.Contains(only, p.name) {
				all = append(all, exchange{s.masked.Replace(p.name + ": " + statement), s.mask(p.ask(ctx, statement) + s.outward())})
			}
		}
	}
	return all, ctx.Err()
}

// sqlForms sends the statements of testdata over every path, as each principal.
func sqlForms(ctx context.Context, s *side) ([]exchange, error) {
	text, err := os.ReadFile(s.testdata("statements.sql"))
	if err != nil {
		return nil, err
	}
	statements := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	all, err := s.send(ctx, writerKey, statements)
	if err != nil {
		return nil, err
	}
	more, err := s.send(ctx, readerKey, statements, "application/json", "postgres simple", "flight")
	return append(all, more...), err
}

// hostileStatements sends those of testdata/hostile over the path of each protocol. The files
// whose statements only end at a limit of time or memory are left out.
func hostileStatements(ctx context.Context, s *side) (all []exchange, err error) {
	files, err := filepath.Glob(filepath.Join(s.root, "testdata/hostile/*.sql"))
	if err != nil {
		return nil, err
	}
	expand := strings.NewReplacer(`\\`, `\`, `\r`, "\r", "{ROOT}", s.dir)
	for _, file := range files {
		name := filepath.Base(file)
		if name == "endless.sql" || name == "memory.sql" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var statements []string
		for _, entry := range strings.Split("\n"+string(text), "\n-- want: ")[1:] {
			_, statement, _ := strings.Cut(entry, "\n")
			statements = append(statements, expand.Replace(strings.TrimSuffix(statement, "\n")))
		}
		key := readerKey
		if name == "changes.sql" || name == "readers.sql" {
			key = writerKey
		}
		more, err := s.send(ctx, key, statements, "application/json", "postgres simple", "postgres binary", "flight prepared")
		if err != nil {
			return nil, err
		}
		perLine := strings.NewReplacer("[{", "[\n{", "},{", "},\n{", "}]", "},\n]")
		for _, x := range more { // most have no ORDER BY
			lines := strings.Split(perLine.Replace(x.answer), "\n")
			slices.Sort(lines)
			all = append(all, exchange{x.request, strings.Join(lines, "\n")})
		}
	}
	return all, nil
}

// jsonText is a value as JSON, a key a line.
func jsonText(v any, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	text, err := json.MarshalIndent(v, "", " ")
	return fmt.Sprint(string(text), err)
}

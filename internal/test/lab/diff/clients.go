package diff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spiced-sql/spiced/internal/test/lab/serve"
)

// server is a running spiced, with a client for each protocol.
type server struct{ *serve.Server }

func start(ctx context.Context, program []string, dir string) (*server, error) {
	s, err := serve.Start(context.WithoutCancel(ctx), program, dir)
	return &server{s}, err
}

// client runs statements over one protocol.
type client struct {
	name string
	form string // of its results
	ask  func(ctx context.Context, s statement) (result, error)
}

// Paths are the names of the protocols and forms over which statements run.
var Paths = []string{"json", "arrow", "text", "binary", "flight", "tool", "mcp"}

// The paths of tool calls, for statements that are one.
const (
	toolPath = "tool"
	mcpPath  = "mcp"
)

// connect opens the clients of a server.
func (s *server) connect(ctx context.Context, paths []string) (clients []client, closeAll func(), err error) {
	pg, err := s.postgres(ctx)
	if err != nil {
		return nil, nil, err
	}
	_, address, _ := strings.Cut(s.URL("flight"), "://")
	fl, err := flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	clients = []client{
		{"json", formJSON, s.askJSON},
		{"arrow", formArrow, s.askArrow},
		{"text", formText, askPostgres(pg, 0)},
		{"binary", formBinary, askPostgres(pg, 1)},
		{"flight", formArrow, askFlight(fl)},
		{toolPath, formJSON, s.askTool},
		{mcpPath, formJSON, s.askMCP},
	}
	clients = slices.DeleteFunc(clients, func(c client) bool { return len(paths) > 0 && !slices.Contains(paths, c.name) })
	return clients, func() { fl.Close(); pg.Close(context.WithoutCancel(ctx)) }, nil
}

// postgres opens a connection over the PostgreSQL protocol.
func (s *server) postgres(ctx context.Context) (*pgconn.PgConn, error) {
	return pgconn.Connect(ctx, strings.Replace(s.URL("postgres"), "postgresql://", "postgres://spice@", 1)+"/spice?sslmode=disable")
}

// body is the statement as a request to the HTTP API.
func (st statement) body() string {
	values := []any{}
	for _, p := range st.params {
		values = append(values, p.value)
	}
	doc, _ := json.Marshal(map[string]any{"sql": st.sql, "parameters": values}) //nolint:errcheck // of texts and numbers
	return string(doc)
}

func (s *server) askJSON(ctx context.Context, st statement) (result, error) {
	text, err := s.Do(ctx, http.MethodPost, "/v1/sql", "application/json", st.body())
	if err != nil {
		return result{}, err
	}
	return jsonRows(text)
}

func (s *server) askArrow(ctx context.Context, st statement) (result, error) {
	stream, err := s.Do(ctx, http.MethodPost, "/v1/sql", "application/vnd.apache.arrow.stream", st.body())
	if err != nil {
		return result{}, err
	}
	return arrowRows(bytes.NewBuffer(stream))
}

// oids are PostgreSQL's types of parameters.
var oids = map[kind]uint32{boolean: pgtype.BoolOID, integer: pgtype.Int8OID, double: pgtype.Float8OID, text: pgtype.TextOID}

func askPostgres(conn *pgconn.PgConn, format int16) func(context.Context, statement) (result, error) {
	return func(ctx context.Context, st statement) (result, error) {
		var values [][]byte
		var types []uint32
		for _, p := range st.params {
			types = append(types, oids[p.kind])
			switch v := p.value.(type) {
			case nil:
				values = append(values, nil)
			case float64:
				values = append(values, strconv.AppendFloat(nil, v, 'g', -1, 64))
			default:
				values = append(values, fmt.Append([]byte{}, v)) // nil would be NULL
			}
		}
		answer := conn.ExecParams(ctx, st.sql, values, types, nil, []int16{format}).Read()
		if answer.Err != nil {
			return result{}, answer.Err
		}
		r := result{}
		var names []string
		for _, f := range answer.FieldDescriptions {
			names = append(names, fmt.Sprintf("%s %d", f.Name, f.DataTypeOID))
		}
		r.columns = strings.Join(names, ", ")
		for _, row := range answer.Rows {
			r.rows = append(r.rows, postgresRow(row))
		}
		return r, nil
	}
}

func askFlight(c *flightsql.Client) func(context.Context, statement) (result, error) {
	return func(ctx context.Context, st statement) (result, error) {
		if len(st.params) == 0 {
			info, err := c.Execute(ctx, st.sql)
			return readFlight(ctx, c, info, err)
		}
		prepared, err := c.Prepare(ctx, st.sql)
		if err != nil {
			return result{}, err
		}
		defer prepared.Close(ctx) //nolint:errcheck // it was executed
		prepared.SetParameters(st.record())
		info, err := prepared.Execute(ctx)
		return readFlight(ctx, c, info, err)
	}
}

func readFlight(ctx context.Context, c *flightsql.Client, info *flight.FlightInfo, err error) (result, error) {
	if err != nil {
		return result{}, err
	}
	reader, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return result{}, err
	}
	defer reader.Release()
	r := result{columns: schemaText(reader.Schema())}
	for reader.Next() {
		r.rows = appendRecords(r.rows, reader.RecordBatch())
	}
	return r, reader.Err()
}

// record are the parameters as one row.
func (st statement) record() arrow.RecordBatch {
	types := map[kind]arrow.DataType{
		boolean: arrow.FixedWidthTypes.Boolean, integer: arrow.PrimitiveTypes.Int64, double: arrow.PrimitiveTypes.Float64, text: arrow.BinaryTypes.String,
	}
	var fields []arrow.Field
	var values []arrow.Array
	for i, p := range st.params {
		fields = append(fields, arrow.Field{Name: strconv.Itoa(i + 1), Type: types[p.kind], Nullable: true})
		b := array.NewBuilder(memory.DefaultAllocator, types[p.kind])
		if p.value == nil {
			b.AppendNull()
		} else if err := b.AppendValueFromString(fmt.Sprint(p.value)); err != nil {
			b.AppendNull()
		}
		values = append(values, b.NewArray())
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), values, 1)
}

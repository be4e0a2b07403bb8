package flightsql_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/access/audit"
	flight "github.com/spiced-sql/spiced/internal/protocols/flightsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

func TestCatalogs(t *testing.T) {
	c := serve(t).client(t)
	ctx := t.Context()
	var out strings.Builder
	list := func(what string, info *arrowflight.FlightInfo, err error) {
		t.Helper()
		fmt.Fprintf(&out, "-- %s\n%s", what, rows(t, c, ctx, info, err))
	}
	text := func(s string) *string { return &s }
	info, err := c.GetCatalogs(ctx)
	list("catalogs", info, err)
	info, err = c.GetTableTypes(ctx)
	list("types of tables", info, err)
	for what, o := range sorted(map[string]*flightsql.GetDBSchemasOpts{
		"schemas": {}, "schemas like s%": {DbSchemaFilterPattern: text("s%")}, "schemas of another catalog": {Catalog: text("other")},
		"schemas without a catalog": {Catalog: text("")},
	}) {
		info, err = c.GetDBSchemas(ctx, o)
		list(what, info, err)
	}
	for what, o := range sorted(map[string]*flightsql.GetTablesOpts{
		"tables": {}, "tables of catalog spice": {Catalog: text("spice")}, "tables of another": {Catalog: text("x")},
		"tables of spiced": {DbSchemaFilterPattern: text("spiced")}, "tables like %er_": {TableNameFilterPattern: text("%er_")},
		`tables like my\_table`: {TableNameFilterPattern: text(`my\_table`)}, "views": {TableTypes: []string{"VIEW"}},
		"system tables": {TableTypes: []string{"SYSTEM TABLE"}},
	}) {
		info, err = c.GetTables(ctx, o)
		list(what, info, err)
	}
	golden.Equal(t, "testdata/catalogs.txt", out.String())
}

// sorted iterates over a map in the order of its keys.
func sorted[V any](m map[string]V) func(yield func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(func(each func(string) bool) {
			for key := range m {
				if !each(key) {
					return
				}
			}
		}) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

func TestTablesWithTheirColumns(t *testing.T) {
	c := serve(t).client(t)
	info, err := c.GetTables(t.Context(), &flightsql.GetTablesOpts{IncludeSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	_, batches, err := read(t.Context(), c, info)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i := range int(batches[0].NumRows()) {
		schema, err := arrowflight.DeserializeSchema(batches[0].Column(4).(*array.Binary).Value(i), memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "-- %s\n%s\n", batches[0].Column(2).ValueStr(i), schema)
	}
	golden.Equal(t, "testdata/columns.txt", out.String())
}

// Statements that the server runs for metadata are not the client's.
func TestFailedStatementsOfClientsAreAudited(t *testing.T) {
	var log bytes.Buffer
	h := serve(t, func(o *flight.Options) {
		o.Query = query.New(query.Options{DB: database(t, engine.Options{}), Audit: audit.New(slog.New(slog.NewTextHandler(&log, nil)))})
	})
	c := h.client(t)
	info, err := c.GetTables(t.Context(), &flightsql.GetTablesOpts{IncludeSchema: true}) // of a broken view too
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(t.Context(), c, info); err != nil || log.Len() > 0 {
		t.Errorf("%v, the audit log has %s", err, &log)
	}
	if _, err := c.Execute(t.Context(), "SELECT nosuch"); err == nil || !strings.Contains(log.String(), "kind=statement door=flight outcome=not_found") {
		t.Errorf("%v, the audit log has %s", err, &log)
	}
}

func TestSQLInfo(t *testing.T) {
	c := serve(t).client(t)
	info, err := c.GetSqlInfo(t.Context(), nil)
	golden.Equal(t, "testdata/sqlinfo.txt", strings.ReplaceAll(rows(t, c, t.Context(), info, err), arrow.PkgVersion, "VERSION"))
	info, err = c.GetSqlInfo(t.Context(), []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerVersion, flightsql.SqlInfoFlightSqlServerName, 9999})
	want := `{"info_name":0,"value":[0,"spiced"]}` + "\n" + `{"info_name":1,"value":[0,"1.2.3"]}` + "\n"
	if got := rows(t, c, t.Context(), info, err); got != want {
		t.Errorf("got %s", got)
	}
}

func TestTypeInfo(t *testing.T) {
	c := serve(t).client(t)
	info, err := c.GetXdbcTypeInfo(t.Context(), nil)
	golden.Equal(t, "testdata/types.txt", rows(t, c, t.Context(), info, err))
	date := int32(91)
	info, err = c.GetXdbcTypeInfo(t.Context(), &date)
	if got := rows(t, c, t.Context(), info, err); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"DATE"`) {
		t.Errorf("got %s", got)
	}
}

func TestKeysOfTables(t *testing.T) {
	c := serve(t).client(t)
	ctx, other, public := t.Context(), "other", "public"
	orders := flightsql.TableRef{Table: "orders"}
	const key = `{"catalog_name":"spice","column_name":"name","db_schema_name":"public","key_name":"orders_pkey","key_sequence":1,"table_name":"orders"}` + "\n" +
		`{"catalog_name":"spice","column_name":"id","db_schema_name":"public","key_name":"orders_pkey","key_sequence":2,"table_name":"orders"}` + "\n"
	for _, test := range []struct {
		of   flightsql.TableRef
		want string
	}{
		{orders, key},
		{flightsql.TableRef{Table: "orders", DBSchema: &public}, key},
		{flightsql.TableRef{Table: "orders", DBSchema: &other}, ""},
		{flightsql.TableRef{Table: "orders", Catalog: &other}, ""},
		{flightsql.TableRef{Table: "cheap"}, ""},
		{flightsql.TableRef{Table: "x' OR true --"}, ""},
	} {
		info, err := c.GetPrimaryKeys(ctx, test.of)
		if got := rows(t, c, ctx, info, err); got != test.want {
			t.Errorf("%v: got %s, want %s", test.of, got, test.want)
		}
	}
	for _, ask := range []func() (*arrowflight.FlightInfo, error){
		func() (*arrowflight.FlightInfo, error) { return c.GetImportedKeys(ctx, orders) },
		func() (*arrowflight.FlightInfo, error) { return c.GetExportedKeys(ctx, orders) },
		func() (*arrowflight.FlightInfo, error) { return c.GetCrossReference(ctx, orders, orders) },
	} {
		info, err := ask()
		if got := rows(t, c, ctx, info, err); got != "" {
			t.Errorf("got %s", got)
		}
	}
	schema, err := c.GetPrimaryKeysSchema(ctx)
	if err != nil || len(schema.GetSchema()) == 0 {
		t.Errorf("GetPrimaryKeysSchema: %v", err)
	}
}

func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"%", "", true},
		{"%", "abc", true},
		{"a%c", "abbbc", true},
		{"a%c", "abbb", false},
		{"%b%d", "abcbd", true},
		{"_", "é", true},
		{"_", "", false},
		{"a_c", "abc", true},
		{`a\_c`, "abc", false},
		{`a\_c`, "a_c", true},
		{`100\%`, "100%", true},
		{"A", "a", false},
		{"%%%a", "bba", true},
		{strings.Repeat("%a", 50), strings.Repeat("a", 49), false},
	} {
		if got := flight.Like(test.pattern, test.name); got != test.want {
			t.Errorf("%q like %q: %v", test.name, test.pattern, got)
		}
	}
}

func TestActions(t *testing.T) {
	c := serve(t).client(t)
	ctx := t.Context()
	stream, err := c.Client.ListActions(ctx, &arrowflight.Empty{})
	var names []string
	for err == nil {
		var a *arrowflight.ActionType
		if a, err = stream.Recv(); err == nil {
			names = append(names, a.GetType())
		}
	}
	want := "BeginTransaction CancelFlightInfo CancelQuery ClosePreparedStatement CloseSession CreatePreparedStatement EndTransaction GetSessionOptions " +
		"SetSessionOptions"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the actions are %s", got)
	}
	closed, err := c.CloseSession(ctx, &arrowflight.CloseSessionRequest{})
	if err != nil || closed.GetStatus() != arrowflight.CloseSessionResultClosed {
		t.Errorf("CloseSession: %v, %v", closed, err)
	}
}

func TestSessionOptions(t *testing.T) {
	c := serve(t).client(t)
	got, err := c.GetSessionOptions(t.Context(), &arrowflight.GetSessionOptionsRequest{})
	if o := got.GetSessionOptions(); err != nil || o["catalog"].GetStringValue() != "spice" || o["schema"].GetStringValue() != "public" {
		t.Errorf("GetSessionOptions: %v, %v", got, err)
	}
	options, err := arrowflight.NewSessionOptionValues(map[string]any{"catalog": "spice", "schema": "other", "x": "y"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := c.SetSessionOptions(t.Context(), &arrowflight.SetSessionOptionsRequest{SessionOptions: options})
	if err != nil || len(set.GetErrors()) != 2 || set.GetErrors()["schema"].GetValue() != arrowflight.SetSessionOptionsResultErrorInvalidValue ||
		set.GetErrors()["x"].GetValue() != arrowflight.SetSessionOptionsResultErrorInvalidName {
		t.Errorf("SetSessionOptions: %v, %v", set, err)
	}
}

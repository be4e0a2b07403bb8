package flightsql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/arrowrows"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// systemSchemas have no data of users.
var systemSchemas = []string{"information_schema", "pg_catalog", "spiced", "runtime", "metadata", "sys", "system"}

const (
	noSchema  = "main"  // where tables without a schema are
	maxOthers = 1000    // names for suggestions
	maxTables = 200_000 // that a server may have
)

var _ source.Lister = (*Connector)(nil)

// List returns the tables of a server. The target of `spice.ai:` may be its URL; that of
// `flightsql:` is one of its catalogs, if it has several.
func (c *Connector) List(ctx context.Context, d source.Declaration, o source.ListOptions) (*source.Listing, error) {
	catalog := d.From.Target
	params := spicepod.Params(nil)
	if c.spice && strings.Contains(catalog, "://") {
		if d.Params.Has("spiceai_endpoint") || d.Params.Has("spiceai_flight_endpoint") {
			return nil, fault.New("from", "write one of them", "from and params both have the endpoint")
		}
		params, catalog = spicepod.Params{"spiceai_endpoint": spicepod.NewText(d.From.Shown, catalog)}, ""
	}
	d.Params = d.Params.With(params)
	d.From.Target = "x" // of a table, whose connection it is
	compiled, err := c.Compile(d)
	if err != nil {
		return nil, err
	}
	client, err := compiled.(*flightSource).connect(ctx)
	if err != nil {
		return nil, err
	}
	defer client.close()
	l := &lister{options: o, catalog: catalog, params: params, connector: d.From.Connector}
	if err := client.tables(ctx, catalog, l.add); err != nil {
		return nil, err
	}
	return l.listing(client.address)
}

// lister makes a listing of the tables that a server names.
type lister struct {
	options   source.ListOptions
	catalog   string // "": the only one
	connector string
	params    spicepod.Params
	tables    []source.ListedTable
	others    []string
	catalogs  []string
	columns   int
	seen      int
}

// add adds a table; schema is nil if the server does not say it.
func (l *lister) add(catalog, schema, name string, columns []engine.Column) error {
	if l.seen++; l.seen > maxTables {
		return fault.New("from", "", "the server has more than %d tables", maxTables)
	}
	if slices.Contains(systemSchemas, strings.ToLower(schema)) {
		return nil
	}
	if !slices.Contains(l.catalogs, catalog) && len(l.catalogs) < maxOthers {
		l.catalogs = append(l.catalogs, catalog)
	}
	at := cmp.Or(schema, noSchema)
	if !l.options.Include.Match(at, name) {
		if len(l.others) < maxOthers {
			l.others = append(l.others, at+"."+name)
		}
		return nil
	}
	if l.columns += len(columns); l.columns > l.options.Columns {
		return fault.New("include", "name fewer tables", "its tables have more than %d columns", l.options.Columns)
	}
	if len(l.tables) > l.options.Tables {
		return nil // the caller sees that there are too many
	}
	parts := slices.DeleteFunc([]string{catalog, schema, name}, func(part string) bool { return part == "" })
	t := source.ListedTable{Schema: at, Name: name, From: l.connector + ":" + identifiers(parts), Params: l.params}
	for _, c := range columns {
		t.Columns = append(t.Columns, tables.Column{Name: c.Name, Type: c.Type.String()})
	}
	l.tables = append(l.tables, t)
	return nil
}

// listing returns the tables, unless they are of several catalogs.
func (l *lister) listing(address string) (*source.Listing, error) {
	if len(l.catalogs) > 1 {
		return nil, fault.New("from", fmt.Sprintf("name one: %s:%s", l.connector, l.catalogs[0]),
			"the Flight SQL server %s has several catalogs: %s", address,
			truncate.Ellipsis(strings.Join(l.catalogs, ", "), fault.MaxMessage))
	}
	slices.SortFunc(l.tables, func(a, b source.ListedTable) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
	})
	out := &source.Listing{Tables: l.tables}
	if len(l.options.Include.Unmatched(out)) > 0 {
		out.Others = l.others
	}
	return out, nil
}

// tables calls add for each table of a catalog, "" for all, with its columns.
func (c *client) tables(ctx context.Context, catalog string,
	add func(catalog, schema, name string, columns []engine.Column) error,
) error {
	o := &flightsql.GetTablesOpts{IncludeSchema: true}
	if catalog != "" {
		o.Catalog = &catalog
	}
	info, err := c.GetTables(c.with(ctx), o)
	if err != nil {
		return c.fault(err)
	}
	b := &batches{client: c, endpoints: info.Endpoint}
	defer b.Close()
	for {
		batch, err := b.Next(ctx)
		if err != nil || batch == nil {
			return err
		}
		err = arrowipc.Guard(func() error { return eachTable(batch, add) })
		batch.Release()
		if err != nil {
			return c.fault(err)
		}
	}
}

// eachTable reads a batch of the result of CommandGetTables.
func eachTable(batch arrow.RecordBatch, add func(catalog, schema, name string, columns []engine.Column) error) error {
	text := func(name string, row int) string {
		at := batch.Schema().FieldIndices(name)
		if len(at) == 0 || batch.Column(at[0]).IsNull(row) {
			return ""
		}
		return strings.Clone(batch.Column(at[0]).(*array.String).Value(row))
	}
	schemas := batch.Column(batch.Schema().FieldIndices("table_schema")[0]).(*array.Binary)
	for row := range int(batch.NumRows()) {
		var columns []engine.Column
		if !schemas.IsNull(row) {
			schema, err := arrowipc.Schema(schemas.Value(row))
			if err != nil {
				return err
			}
			columns = arrowrows.Columns(schema)
		}
		if err := add(text("catalog_name", row), text("db_schema_name", row), text("table_name", row), columns); err != nil {
			return err
		}
	}
	return nil
}

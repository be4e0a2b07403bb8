package flightsql

import (
	"cmp"
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// The types of tables.
const (
	typeTable = "TABLE"
	typeView  = "VIEW"
)

// metadataSchema describes the rows of a command that asks about the server
// and its tables.
func metadataSchema(command proto.Message) (*arrow.Schema, error) {
	switch command := command.(type) {
	case *pb.CommandGetCatalogs:
		return schema_ref.Catalogs, nil
	case *pb.CommandGetDbSchemas:
		return schema_ref.DBSchemas, nil
	case *pb.CommandGetTables:
		if command.GetIncludeSchema() {
			return schema_ref.TablesWithIncludedSchema, nil
		}
		return schema_ref.Tables, nil
	case *pb.CommandGetTableTypes:
		return schema_ref.TableTypes, nil
	case *pb.CommandGetSqlInfo:
		return schema_ref.SqlInfo, nil
	case *pb.CommandGetXdbcTypeInfo:
		return schema_ref.XdbcTypeInfo, nil
	case *pb.CommandGetPrimaryKeys:
		return schema_ref.PrimaryKeys, nil
	case *pb.CommandGetImportedKeys, *pb.CommandGetExportedKeys, *pb.CommandGetCrossReference:
		return schema_ref.ImportedExportedKeysAndCrossReference, nil
	}
	return nil, unsupported("the command %s is not supported", nameOf(command))
}

// sendMetadata sends the rows of a command that asks about the server and its tables.
// Foreign keys are not known.
func (s *service) sendMetadata(command proto.Message, stream grpc.ServerStream) error {
	schema, err := metadataSchema(command)
	if err != nil {
		return err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	switch command := command.(type) {
	case *pb.CommandGetCatalogs:
		add(b, engine.CatalogName)
	case *pb.CommandGetDbSchemas:
		s.addSchemas(b, command)
	case *pb.CommandGetTables:
		err = s.addTables(stream.Context(), b, command)
	case *pb.CommandGetTableTypes:
		add(b, typeTable)
		add(b, typeView)
	case *pb.CommandGetSqlInfo:
		addSQLInfo(b, command.GetInfo(), sqlInfo(s.opts.Version, clientOf(stream.Context())))
	case *pb.CommandGetXdbcTypeInfo:
		addTypeInfo(b, command.DataType)
	case *pb.CommandGetPrimaryKeys:
		err = s.addPrimaryKeys(stream.Context(), b, command)
	}
	if err != nil {
		return err
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	to := newSender(stream, schema)
	if batch.NumRows() > 0 {
		if err := to.write(batch); err != nil {
			return err
		}
	}
	return to.end()
}

// add adds a row of text to a table of text.
func add(b *array.RecordBuilder, row ...string) {
	for i, word := range row {
		b.Field(i).(*array.StringBuilder).Append(word)
	}
}

// tables are the tables there are, by schema and name.
func (s *service) tables() []Table {
	tables := slices.Clone(s.opts.Tables())
	slices.SortFunc(tables, func(a, b Table) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
	})
	return tables
}

// inCatalog reports whether a filter includes the one catalog there is.
func inCatalog(filter *string) bool { return filter == nil || *filter == engine.CatalogName }

func (s *service) addSchemas(b *array.RecordBuilder, command *pb.CommandGetDbSchemas) {
	if !inCatalog(command.Catalog) {
		return
	}
	names := []string{engine.Public}
	for _, t := range s.tables() {
		names = append(names, t.Schema)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if matches(command.DbSchemaFilterPattern, name) {
			add(b, engine.CatalogName, name)
		}
	}
}

func (s *service) addTables(ctx context.Context, b *array.RecordBuilder, command *pb.CommandGetTables) error {
	if !inCatalog(command.Catalog) {
		return nil
	}
	if command.GetIncludeSchema() {
		leave, err := s.room(ctx)
		if err != nil {
			return err
		}
		defer leave()
	}
	for _, t := range s.tables() {
		kind := typeTable
		if t.View {
			kind = typeView
		}
		if types := command.GetTableTypes(); len(types) > 0 && !slices.Contains(types, kind) ||
			!matches(command.DbSchemaFilterPattern, t.Schema) || !matches(command.TableNameFilterPattern, t.Name) {
			continue
		}
		add(b, engine.CatalogName, t.Schema, t.Name, kind)
		if command.GetIncludeSchema() {
			schema, err := s.tableSchema(ctx, t)
			if err != nil {
				return err
			}
			b.Field(4).(*array.BinaryBuilder).Append(serialized(schema))
		}
	}
	return nil
}

// tableSchema describes the rows of a table. One that the caller may not read,
// or a view that fails, has no columns: it shall not hide the others.
func (s *service) tableSchema(ctx context.Context, t Table) (*arrow.Schema, error) {
	req := clientOf(ctx).request("SELECT * FROM "+engine.Qualified(t.Schema, t.Name), engine.Params{})
	req.Probe, req.Peek = true, true
	d, err := s.opts.Query.Describe(ctx, req)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && engine.AsError(err).Code == errcode.Busy:
		return nil, err
	case err != nil:
		return arrow.NewSchema(nil, nil), nil
	}
	schema := clientOf(ctx).types.Schema(settled(d.Columns))
	fields := schema.Fields()
	for i, f := range fields {
		if remarks := t.Remarks[f.Name]; remarks != "" {
			fields[i].Metadata = flightsql.NewColumnMetadataBuilder().Remarks(remarks).Metadata()
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

// primaryKeys are those in the catalog of PostgreSQL, too: of datasets that can be written.
const primaryKeys = `SELECT "schema", dataset, unnest("columns"), generate_subscripts("columns", 1), "name"
	FROM spiced.dataset_constraints WHERE kind = 'PRIMARY KEY' AND dataset = $1 AND "schema" = coalesce($2, "schema") ORDER BY 1, 4`

func (s *service) addPrimaryKeys(ctx context.Context, b *array.RecordBuilder, command *pb.CommandGetPrimaryKeys) error {
	if !inCatalog(command.Catalog) {
		return nil
	}
	leave, err := s.room(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var schema any
	if command.DbSchema != nil {
		schema = command.GetDbSchema()
	}
	req := clientOf(ctx).request(primaryKeys, engine.Params{Positional: []any{command.GetTable(), schema}})
	req.Probe = true
	rows, err := s.opts.Query.Query(ctx, req)
	if err != nil {
		return err
	}
	defer rows.Close()
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return err
		}
		text := func(column, row int) string { return string(chunk.Column(column).Bytes(row)) }
		for i := range chunk.Len() {
			add(b, engine.CatalogName, text(0, i), text(1, i), text(2, i))
			b.Field(4).(*array.Int32Builder).Append(int32(engine.Value[int64](chunk.Column(3), i)))
			b.Field(5).(*array.StringBuilder).Append(text(4, i))
		}
	}
	return nil
}

// matches reports whether a name matches a pattern, in which % matches any text
// and _ a character, unless a backslash precedes it. A nil pattern
// matches everything.
func matches(pattern *string, name string) bool {
	if pattern == nil {
		return true
	}
	return like(wildcards(*pattern), []rune(name))
}

// Wildcards in the result of wildcards, which no character equals.
const (
	anyText      = -1
	anyCharacter = -2
)

func wildcards(pattern string) []rune {
	var out []rune
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
			continue
		case r == '%':
			r = anyText
		case r == '_':
			r = anyCharacter
		}
		out = append(out, r)
	}
	return out
}

// like takes time in proportion to the product of the lengths: after anyText
// only the last one is tried again.
func like(pattern, name []rune) bool {
	p, n := 0, 0
	last, until := -1, 0 // the last anyText, and where what it matches ends
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == anyText:
			last, until = p, n
			p++
		case p < len(pattern) && (pattern[p] == anyCharacter || pattern[p] == name[n]):
			p, n = p+1, n+1
		case last >= 0:
			until++
			p, n = last+1, until
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == anyText {
		p++
	}
	return p == len(pattern)
}

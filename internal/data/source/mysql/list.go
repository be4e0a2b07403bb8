package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// readable are the databases with tables of users, or one of them.
const (
	allDatabases = `TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')`
	oneDatabase  = `TABLE_SCHEMA = %s`
)

// listCatalog returns the tables and views of databases that the user can see.
const listCatalog = `SELECT TABLE_SCHEMA, TABLE_NAME, IF(TABLE_TYPE = 'VIEW', '', TABLE_COMMENT) FROM information_schema.TABLES
WHERE %s AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') ORDER BY 1, 2`

// listCatalogColumns returns the columns of all tables of databases.
const listCatalogColumns = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, NUMERIC_PRECISION, NUMERIC_SCALE, COLUMN_COMMENT
FROM information_schema.COLUMNS WHERE %s ORDER BY 1, 2, ORDINAL_POSITION`

// maxOthers is the most names of tables that no pattern matches.
const maxOthers = 1000

var _ source.Lister = (*Connector)(nil)

// List returns the tables of a database, which the target names, or the params; or of all
// databases of the server.
func (c *Connector) List(ctx context.Context, d source.Declaration, o source.ListOptions) (*source.Listing, error) {
	if err := d.Params.CheckKnown("a catalog from mysql", spicepod.ParamNames(knownParams)); err != nil {
		return nil, err
	}
	s := &mysqlSource{Connector: c}
	if err := s.configure(d); err != nil {
		return nil, err
	}
	database := s.config.database
	switch {
	case d.From.Target != "" && database != "" && d.From.Target != database:
		return nil, fault.New("from", "leave the database out of from", "from names the database %q, the params name %q",
			d.From.Target, database)
	case d.From.Target != "":
		database = d.From.Target
	}
	if err := source.NeedsExtension(s.db, extension); err != nil {
		return nil, err
	}
	server, held, err := s.register()
	if err != nil {
		return nil, err
	}
	defer resource.Release(held)
	r, err := server.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	conn := r.Value()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(past) })
	l, err := conn.list(database, o)
	switch stopped := stop(); {
	case err == nil && stopped:
		r.Release()
		return l, nil
	case !stopped:
		err = ctx.Err()
	default:
		err = server.fault(err)
	}
	r.Destroy() // it may be broken
	return nil, err
}

func (c *connection) list(database string, o source.ListOptions) (*source.Listing, error) {
	where := allDatabases
	if database != "" {
		where = fmt.Sprintf(oneDatabase, text(database))
		known, err := c.query("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = "+text(database), 1)
		if err != nil {
			return nil, err
		}
		if len(known) == 0 {
			return nil, fault.New("from", "correct the database", "the server has no database %q that the user may read",
				database).Retryable()
		}
	}
	l := &source.Listing{}
	index := map[[2]string]int{}
	_, err := c.execute(fmt.Sprintf(listCatalog, where), 3, func(row []*string) error {
		schema, name := *row[0], *row[1]
		switch {
		case !o.Include.Match(schema, name) && len(l.Others) < maxOthers:
			l.Others = append(l.Others, schema+"."+name)
		case o.Include.Match(schema, name) && len(l.Tables) <= o.Tables:
			index[[2]string{schema, name}] = len(l.Tables)
			l.Tables = append(l.Tables, source.ListedTable{
				Schema: schema, Name: name, From: "mysql:" + engine.Identifier(schema) + "." + engine.Identifier(name),
				Comment: value(row[2]),
			})
		}
		return nil
	})
	if err != nil || len(l.Tables) == 0 {
		return l, err
	}
	columns := 0
	_, err = c.execute(fmt.Sprintf(listCatalogColumns, where), 8, func(row []*string) error {
		i, ok := index[[2]string{*row[0], *row[1]}]
		if !ok {
			return nil
		}
		if columns++; columns > o.Columns {
			return fault.New("include", "name fewer tables", "its tables have more than %d columns", o.Columns)
		}
		own := column{
			name: *row[2], kind: strings.ToLower(value(row[3])), declared: strings.ToLower(value(row[4])),
			precision: value(row[5]), scale: value(row[6]),
		}
		l.Tables[i].Columns = append(l.Tables[i].Columns,
			tables.Column{Name: own.name, Type: own.duckType(), Description: value(row[7])})
		return nil
	})
	return l, err
}

// value is a value of a row, "" for NULL.
func value(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}

// duckTypes are those of DuckDB by those of MySQL, as the extension reads them. Those with
// a U in front are of unsigned columns. All others are texts.
var duckTypes = map[string]string{
	"tinyint": "TINYINT", "smallint": "SMALLINT", "mediumint": "INTEGER", "int": "INTEGER", "bigint": "BIGINT",
	"year":  "INTEGER",
	"float": "FLOAT", "double": "DOUBLE", "date": "DATE", "datetime": "TIMESTAMP", "timestamp": "TIMESTAMP",
	"binary": "BLOB", "varbinary": "BLOB", "tinyblob": "BLOB", "blob": "BLOB", "mediumblob": "BLOB", "longblob": "BLOB",
}

// duckType returns the type of DuckDB for the column.
func (c column) duckType() string {
	t := duckTypes[c.kind]
	switch {
	case c.kind == "bit" && c.declared == "bit(1)":
		return "BOOLEAN"
	case c.kind == "bit":
		return "UBIGINT"
	case c.kind == "decimal" && (len(c.precision) > 2 || len(c.precision) == 2 && c.precision > "38"):
		return "DOUBLE"
	case c.kind == "decimal":
		return "DECIMAL(" + c.precision + "," + c.scale + ")"
	case strings.HasSuffix(c.kind, "int") && strings.Contains(c.declared, "unsigned"):
		return "U" + t
	case t != "":
		return t
	}
	return "VARCHAR"
}

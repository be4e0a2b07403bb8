package documents

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// Question is one that a statement over a table answers.
type Question struct {
	Text string
	// Table is the name of the only table, and Schema describes it in Markdown.
	Table, Schema string
	// Request returns the request of a statement that names the table.
	Request func(sql string) engine.Request
}

// recordsTable is the table of query_documents.
const recordsTable = "records"

// recordsSQL are the records of tables: the objects in the lists of the column data, those in the lists
// of a workbook by sheets, and objects that are the column. TRY_CAST keeps what is no table from failing.
const recordsSQL = `WITH tabled AS (
	SELECT id, name, data, CASE json_type(data) WHEN 'OBJECT' THEN TRY_CAST(data AS MAP(VARCHAR, JSON)) END AS sheets
	FROM documents WHERE %s
), record AS (
	SELECT id, name, unnest(CASE
		WHEN json_type(data) = 'ARRAY'
		THEN list_transform(TRY_CAST(data AS JSON[]), lambda v: {'sheet': NULL::VARCHAR, 'value': v})
		WHEN len(map_keys(sheets)) > 0 AND list_bool_and(list_transform(map_values(sheets),
			lambda v: json_type(v) = 'ARRAY' AND coalesce(json_type(v -> 0), 'OBJECT') = 'OBJECT'))
		THEN flatten(list_transform(map_entries(sheets), lambda e:
			list_transform(TRY_CAST(e.value AS JSON[]), lambda v: {'sheet': e.key, 'value': v})))
		WHEN json_type(data) = 'OBJECT' THEN [{'sheet': NULL::VARCHAR, 'value': data}] END) AS row
	FROM tabled
), fields AS (
	SELECT id, name, row.sheet AS sheet, CAST(row.value AS MAP(VARCHAR, JSON)) AS fields
	FROM record WHERE json_type(row.value) = 'OBJECT'
)
`

// The forms of values in texts. What begins with a zero, such as a postal code, is a
// text.
const (
	formInteger = `[+-]?(0|[1-9][0-9]{0,17})`
	formNumber  = `[+-]?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?`
	formGrouped = `[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+([.][0-9]+)?`
	formDate    = `[0-9]{4}-[0-9]{2}-[0-9]{2}`
	formTime    = formDate + `[ T][0-9]{2}:[0-9]{2}.*`
)

// present is the SQL of a value that is there: texts by which people say that there is none are NULL.
const present = `CASE WHEN lower(trim(%[1]s)) NOT IN ('', '-', 'n/a', 'na', 'null', 'none') THEN trim(%[1]s) END`

// fieldsSQL finds the fields of all records, and how many of their values have which form. Names that
// differ in case alone are one, as in SQL.
var fieldsSQL = `, cell AS (
	SELECT unnest(map_entries(fields)) AS cell, generate_subscripts(map_entries(fields), 1) AS place FROM fields
), text AS (
	SELECT cell.key AS key, place, json_type(cell.value) IN ('OBJECT', 'ARRAY') AS nested, cell.value ->> '$' AS value FROM cell
), clean AS (
	SELECT *, ` + fmt.Sprintf(present, "value") + ` AS v FROM text
)
SELECT list(DISTINCT key ORDER BY key) AS keys, count(*) AS cells, count(v) AS present, count(DISTINCT v) AS different,
	count_if(nested) AS nested,
	count_if(regexp_full_match(v, '` + formInteger + `')) AS integers,
	count_if(regexp_full_match(v, '` + formNumber + `')) AS numbers,
	count_if(regexp_full_match(v, '` + formGrouped + `')) AS grouped,
	count_if(contains(lower(v), 'e')) AS exponents,
	max(length(regexp_replace(split_part(v, '.', 1), '[^0-9]', '', 'g'))) AS digits,
	max(length(split_part(v, '.', 2))) AS decimals,
	count_if(lower(v) IN ('true', 'false')) AS booleans,
	count_if(regexp_full_match(v, '` + formDate + `') AND TRY_CAST(v AS DATE) IS NOT NULL) AS dates,
	count_if(regexp_full_match(v, '` + formTime + `') AND TRY_CAST(v AS TIMESTAMP) IS NOT NULL) AS times,
	list(DISTINCT left(v, 40) ORDER BY left(v, 40))[1:3] AS samples
FROM clean GROUP BY lower(key) ORDER BY min(place), lower(min(key))`

// field is a field of records.
type field struct {
	Keys      []string
	Cells     int64
	Present   int64
	Different int64
	Nested    int64
	Integers  int64
	Numbers   int64
	Grouped   int64
	Exponents int64
	Digits    int64
	Decimals  int64
	Booleans  int64
	Dates     int64
	Times     int64
	Samples   []string

	name string
}

// typ returns the type of the column: one that every value that is there has, or else text.
func (f *field) typ() string {
	all := f.Present
	switch {
	case f.Nested > 0:
		return "JSON"
	case all == 0:
		return "VARCHAR"
	case f.Integers == all:
		return "BIGINT"
	case f.Numbers+f.Grouped == all && f.Exponents == 0 && f.Decimals <= 6 && f.Digits+f.Decimals <= 18:
		return fmt.Sprintf("DECIMAL(18,%d)", f.Decimals)
	case f.Numbers+f.Grouped == all:
		return "DOUBLE"
	case f.Booleans == all:
		return "BOOLEAN"
	case f.Dates == all:
		return "DATE"
	case f.Times+f.Dates == all:
		return "TIMESTAMP"
	}
	return "VARCHAR"
}

// column returns the SQL of the column.
func (f *field) column() string {
	values := make([]string, len(f.Keys))
	for i, key := range f.Keys {
		values[i] = "fields[" + engine.Literal(key) + "]"
	}
	value := "coalesce(" + strings.Join(values, ", ") + ")"
	switch typ := f.typ(); {
	case typ == "JSON":
	case typ == "VARCHAR":
		value += " ->> '$'"
	default:
		value = fmt.Sprintf(present, "("+value+" ->> '$')")
		if f.Grouped > 0 {
			value = "replace(" + value + ", ',', '')"
		}
		value = "CAST(" + value + " AS " + typ + ")"
	}
	return value + " AS " + engine.Identifier(f.name)
}

// table is the table of the records.
type table struct {
	records string // the CTEs
	fields  []field
	left    int // fields that are left out
}

// query answers query_documents: it makes a typed table of the records, has a model write a statement
// over it, and runs that as the caller.
func (t *toolset) query(ctx context.Context, _ *definition, in tools.Input) (any, error) {
	var args struct {
		Question string
		ID       string `json:"document_id"`
	}
	if err := json.Unmarshal(in.Raw, &args); err != nil {
		return nil, err
	}
	records, err := t.recordsOf(ctx, in, args.ID)
	if err != nil {
		return nil, err
	}
	_, with, err := t.documents(in, records.statement())
	if err != nil {
		return nil, err
	}
	q := Question{Text: args.Question, Table: recordsTable, Schema: records.describe()}
	q.Request = func(sql string) engine.Request {
		sql = strings.TrimRight(strings.TrimSpace(sql), "; \n\t")
		req := t.env.Request(in, with+"\nSELECT * FROM (\n"+sql+"\n)", nil)
		req.Isolate = true
		return req
	}
	sql, err := t.env.WriteSQL(ctx, t.config.Model, q, in.Scope)
	if err != nil {
		return nil, err
	}
	if _, err := t.env.SQL.Parse(ctx, sql); err != nil { // by itself: a)(b is a statement in parentheses
		return nil, builtin.SQLError(err)
	}
	list, more, err := t.env.Select(ctx, in, q.Request(sql), MaxAnswer)
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = []json.RawMessage{}
	}
	answer := map[string]any{"sql": sql, "rows": list, "more": more}
	if records.left > 0 {
		answer["columns_left_out"] = records.left
	}
	return answer, nil
}

// recordsOf finds the records of a document, or of all for "".
func (t *toolset) recordsOf(ctx context.Context, in tools.Input, id string) (*table, error) {
	where := "data IS NOT NULL"
	if id != "" {
		where += " AND id = " + engine.Literal(id)
	}
	r := &table{records: fmt.Sprintf(recordsSQL, where)}
	_, sql, err := t.documents(in, r.records+fieldsSQL)
	if err != nil {
		return nil, err
	}
	list, _, err := t.env.Select(ctx, in, t.env.Request(in, sql, nil), 1<<16)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{"document_id": true, "document": true, "sheet": true}
	for _, row := range list {
		var f field
		if err := json.Unmarshal(row, &f); err != nil {
			return nil, err
		}
		if len(r.fields) == MaxFields {
			r.left++
			continue
		}
		f.name = strings.TrimSpace(f.Keys[0])
		for f.name == "" || names[strings.ToLower(f.name)] {
			f.name += "_"
		}
		names[strings.ToLower(f.name)] = true
		r.fields = append(r.fields, f)
	}
	if len(r.fields) == 0 {
		if id != "" {
			return nil, tools.NewError(errcode.NotFound, "there is no document with the id "+quoted(id)+" that has a table",
				"leave document_id out, or read_document shows its text")
		}
		return nil, tools.NewError(errcode.NotFound, "no document has a table",
			"search_documents and grep_documents look into texts")
	}
	return r, nil
}

// statement returns the CTEs up to the table.
func (r *table) statement() string {
	list := []string{"id AS document_id", "name AS document", "sheet"}
	for i := range r.fields {
		list = append(list, r.fields[i].column())
	}
	return r.records + ", " + recordsTable + " AS (\nSELECT " + strings.Join(list, ",\n\t") + " FROM fields\n)"
}

// describe returns the columns of the table as a model reads them.
func (r *table) describe() string {
	var b strings.Builder
	b.WriteString("## " + recordsTable + "\n\nThe rows of the tables in documents.\n\n")
	b.WriteString("| column | type | description |\n| --- | --- | --- |\n")
	b.WriteString("| document_id | VARCHAR | Id of the document that has the row. |\n| document | VARCHAR | Its name. |\n")
	b.WriteString("| sheet | VARCHAR | Name of the sheet, of a workbook with several; else NULL. |\n")
	for i := range r.fields {
		f := &r.fields[i]
		about := fmt.Sprintf("%d different values", f.Different)
		if len(f.Samples) > 0 {
			about += ", such as " + strings.Join(f.Samples, ", ")
		}
		if empty := f.Cells - f.Present; empty > 0 {
			about += fmt.Sprintf("; NULL in %d of %d rows", empty, f.Cells)
		}
		cell := strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ")
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell.Replace(truncate.Runes(f.name, 200)), f.typ(), cell.Replace(about))
	}
	return b.String()
}

package pgcatalog

// keyViews are the catalogs of primary keys and unique constraints, each of which
// has an index with its OID.
var keyViews = []view{
	keyView("pg_constraint", "BIGINT oid; VARCHAR conname; BIGINT connamespace; VARCHAR contype; BOOLEAN condeferrable, "+
		"condeferred, convalidated; "+
		"BIGINT conrelid, contypid, conindid, conparentid, confrelid; VARCHAR confupdtype, confdeltype, confmatchtype; "+
		"BOOLEAN conislocal; INTEGER coninhcount; "+
		"BOOLEAN connoinherit; SMALLINT[] conkey, confkey; BIGINT[] conpfeqop, conppeqop, conffeqop; SMALLINT[] "+
		"confdelsetcols; BIGINT[] conexclop; VARCHAR conbin, consrc; BIGINT tableoid, xmin", `
			k.oid AS oid, k.name AS conname, n.oid AS connamespace, CASE WHEN k.is_primary THEN 'p' ELSE 'u' END AS contype, false AS condeferrable, false AS
			condeferred, true AS convalidated, k.relation_oid AS conrelid, 0::BIGINT AS contypid, k.oid AS conindid, 0::BIGINT AS conparentid, 0::BIGINT AS
			confrelid, ' ' AS confupdtype, ' ' AS confdeltype, ' ' AS confmatchtype, true AS conislocal, 0 AS coninhcount, true AS connoinherit, k.keys AS conkey,
			2606::BIGINT AS tableoid, 0::BIGINT AS xmin`,
		`spice.pgcatalog.declared_keys AS k JOIN spice.pgcatalog.declared_schemas AS n ON n.name = k.schema_name`),
	keyView("pg_index", "BIGINT indexrelid, indrelid; SMALLINT indnatts, indnkeyatts; BOOLEAN indisunique, "+
		"indnullsnotdistinct, indisprimary, indisexclusion, indimmediate, "+
		"indisclustered, indisvalid, indcheckxmin, indisready, indislive, indisreplident; SMALLINT[] indkey; BIGINT[] "+
		"indcollation, indclass; SMALLINT[] indoption; VARCHAR indexprs, indpred; BIGINT xmin", `
			k.oid AS indexrelid, k.relation_oid AS indrelid, len(k.keys)::SMALLINT AS indnatts, len(k.keys)::SMALLINT AS indnkeyatts, true AS indisunique, false
			AS indnullsnotdistinct, k.is_primary AS indisprimary, false AS indisexclusion, true AS indimmediate, false AS indisclustered, true AS indisvalid,
			false AS indcheckxmin, true AS indisready, true AS indislive, false AS indisreplident, k.keys AS indkey, list_transform(k.keys, lambda p: 0::BIGINT)
			AS indcollation, list_transform(k.keys, lambda p: 0::BIGINT) AS indclass, list_transform(k.keys, lambda p: 0::SMALLINT) AS indoption, 0::BIGINT AS
			xmin`,
		`spice.pgcatalog.declared_keys AS k`),
	keyView("pg_indexes", "VARCHAR schemaname, tablename, indexname, tablespace, indexdef", `
			k.schema_name AS schemaname, k.relation AS tablename, k.name AS indexname, spice.pgcatalog.compat_pg_get_indexdef(k.oid) AS indexdef`,
		`spice.pgcatalog.declared_keys AS k`),
	keyView("table_constraints",
		"VARCHAR constraint_catalog, constraint_schema, constraint_name, table_catalog, table_schema, table_name, "+
			"constraint_type, is_deferrable, initially_deferred, enforced, nulls_distinct", `
			'spice' AS constraint_catalog, k.schema_name AS constraint_schema, k.name AS constraint_name, 'spice' AS table_catalog, k.schema_name AS table_schema,
			k.relation AS table_name, k.kind AS constraint_type, 'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced, 'YES' AS nulls_distinct`,
		`spice.pgcatalog.declared_keys AS k`),
	keyView("key_column_usage",
		"VARCHAR constraint_catalog, constraint_schema, constraint_name, table_catalog, table_schema, table_name, "+
			"column_name; INTEGER ordinal_position, position_in_unique_constraint", `
			'spice' AS constraint_catalog, k.schema_name AS constraint_schema, k.name AS constraint_name, 'spice' AS table_catalog, k.schema_name AS table_schema,
			k.relation AS table_name, k.member AS column_name, k.ordinal::INTEGER AS ordinal_position`,
		`(SELECT *, unnest(members) AS member, generate_subscripts(members, 1) AS ordinal FROM spice.pgcatalog.declared_keys) AS k`),
	keyView("constraint_column_usage",
		"VARCHAR table_catalog, table_schema, table_name, column_name, constraint_catalog, constraint_schema, "+
			"constraint_name", `
			'spice' AS table_catalog, k.schema_name AS table_schema, k.relation AS table_name, k.member AS column_name, 'spice' AS constraint_catalog,
			k.schema_name AS constraint_schema, k.name AS constraint_name`,
		`(SELECT *, unnest(members) AS member, generate_subscripts(members, 1) AS ordinal FROM spice.pgcatalog.declared_keys) AS k`),
}

// keyView is a view with the columns of a catalog (see [empty]) and values for some of
// them.
func keyView(name, columns, values, from string) view {
	return view{name, "SELECT e.* REPLACE (" + values + ") FROM (SELECT " + nullColumns(columns) + ") AS e, " + from}
}

// indexVectors are the columns of pg_index of type int2vector and oidvector: lists
// here, so that statements can look into them.
var indexVectors = map[string]bool{"indkey": true, "indoption": true, "indclass": true, "indcollation": true}

// indexVector rewrites an element of a vector, which counts from 0, and what
// the client gets of a whole one, which is text: "1 2". The column's name is token i.
func (r *rewriter) indexVector(i int, name string) {
	from := i
	for r.isSymbol(from-1, ".") && r.nameAt(from-2) != "" {
		from -= 2
	}
	switch next := i + 1; {
	case r.isSymbol(next, "["):
		r.insert(r.tokens[next].End, "1+")
	case r.items[from] != selectItem || r.enclosed(i):
	case r.endsItem(next) || r.keywordAt(next) == "as":
		r.insert(r.tokens[from].Start, "array_to_string(")
		r.insert(r.tokens[i].End, ", ' ')")
		r.nameItem(from, i, name)
	}
}

// enclosed reports whether token i is in parentheses.
func (r *rewriter) enclosed(i int) bool {
	for j := range i {
		if r.isOpening(j) && r.partner[j] > i {
			return true
		}
	}
	return false
}

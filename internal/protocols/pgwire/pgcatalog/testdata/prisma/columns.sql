SELECT o.namespace, i.table_name, i.column_name, format_type(a.atttypid, a.atttypmod) AS formatted_type, i.numeric_precision, i.numeric_scale, i.numeric_precision_radix,
  i.datetime_precision, i.data_type, i.udt_schema AS type_schema_name, i.udt_name AS full_data_type, pg_get_expr(d.adbin, d.adrelid) AS column_default,
  i.is_nullable, i.is_identity, i.character_maximum_length, col_description(a.attrelid, ordinal_position) AS description
FROM information_schema.columns i JOIN pg_attribute a ON a.attname = i.column_name
JOIN (
  SELECT pg_class.oid, relname, pg_namespace.nspname AS namespace FROM pg_class
  JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace AND pg_namespace.nspname = ANY ('{public,sales}') WHERE reltype > 0
) AS o ON o.oid = a.attrelid AND relname = i.table_name AND namespace = i.table_schema
LEFT OUTER JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND table_schema = namespace
WHERE table_schema = ANY ('{public,sales}') ORDER BY namespace, table_name, ordinal_position;

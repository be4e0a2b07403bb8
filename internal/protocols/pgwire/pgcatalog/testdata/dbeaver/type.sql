SELECT y.oid, y.*, r.relkind, format_type(nullif(y.typbasetype, 0), y.typtypmod) AS base_type_name
FROM pg_catalog.pg_type y
LEFT OUTER JOIN pg_class r ON r.oid = y.typrelid
LEFT OUTER JOIN pg_catalog.pg_description t ON y.oid = t.objoid
WHERE y.oid = 1231

SELECT y.oid, y.*, r.relkind, format_type(nullif(y.typbasetype, 0), y.typtypmod) AS base_type_name, t.description
FROM pg_catalog.pg_type y
LEFT OUTER JOIN pg_catalog.pg_type item ON item.oid = y.typelem
LEFT OUTER JOIN pg_catalog.pg_class r ON r.oid = y.typrelid
LEFT OUTER JOIN pg_catalog.pg_description t ON y.oid = t.objoid
WHERE y.typname IS NOT NULL AND (r.relkind IS NULL OR r.relkind = 'c')
AND (item.typcategory IS NULL OR item.typcategory <> 'C')
ORDER BY y.oid

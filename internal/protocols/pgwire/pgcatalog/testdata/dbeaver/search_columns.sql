SELECT f.attname, f.attrelid, f.atttypid, r.relnamespace
FROM pg_catalog.pg_attribute f, pg_catalog.pg_class r
WHERE r.oid = f.attrelid AND (f.attname ILIKE '%euros%' OR col_description(r.oid, f.attnum) ILIKE '%euros%') AND r.relnamespace IN (2200)
ORDER BY f.attname LIMIT 100

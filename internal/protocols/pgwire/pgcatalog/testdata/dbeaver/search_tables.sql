SELECT r.oid, r.relname, r.relnamespace, r.relkind FROM pg_catalog.pg_class r
WHERE r.relkind IN ('r', 'v', 'm', 'f', 'p')
AND (r.relname ILIKE '%ORD%' OR obj_description(r.oid, 'pg_class') ILIKE '%ORD%' OR (r.relkind = 'v' AND pg_get_viewdef(r."oid") ILIKE '%ORD%'))
AND r.relnamespace IN (2200, 11)
ORDER BY r.relname LIMIT 100

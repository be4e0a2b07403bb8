SELECT n.oid, n.conname, n.connamespace FROM pg_catalog.pg_constraint n
WHERE (n.conname ILIKE '%o%' OR obj_description(n.oid, 'pg_constraint') ILIKE '%o%' OR (pg_get_constraintdef(n."oid") ILIKE '%o%'))
AND n.connamespace IN (2200)
ORDER BY n.conname LIMIT 100

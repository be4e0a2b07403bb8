SELECT f.oid AS poid, f.* FROM pg_catalog.pg_proc f
WHERE (f.proname ILIKE '%km%' OR obj_description(f.oid, 'pg_proc') ILIKE '%km%'
    OR (f.prokind <> 'm' AND f.prokind <> 'a' AND pg_get_functiondef(f."oid") ILIKE '%km%'))
AND f.pronamespace IN (2200, 11)
ORDER BY f.proname LIMIT 100

SELECT pg_catalog.oidvectortypes(p.proargtypes)||')', NULL::pg_catalog.text FROM pg_catalog.pg_proc p WHERE (pg_catalog.oidvectortypes(p.proargtypes)||')') LIKE '%' AND p.proname = 'haversine' AND pg_catalog.pg_function_is_visible(p.oid)
LIMIT 1000

SELECT f.oid AS proc_oid, f.proname AS proc_name, g.*
FROM pg_catalog.pg_aggregate g, pg_catalog.pg_proc f
WHERE f.oid = g.aggfnoid AND f.pronamespace = 2200
ORDER BY f.proname

SELECT e.oid,e.*,n.nspname as schema_name FROM pg_catalog.pg_extension e JOIN pg_namespace n ON e.extnamespace=n.oid ORDER BY e.oid

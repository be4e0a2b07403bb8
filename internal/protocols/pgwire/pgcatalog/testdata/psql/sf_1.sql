SELECT 'haversine'::pg_catalog.regproc::pg_catalog.oid

SELECT p.oid, p.*, pg_tablespace_location(p.oid) AS loc FROM pg_catalog.pg_tablespace p ORDER BY p.oid

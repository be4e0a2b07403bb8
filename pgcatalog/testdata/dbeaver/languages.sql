SELECT l.oid,l.* FROM pg_catalog.pg_language l ORDER BY l.oid

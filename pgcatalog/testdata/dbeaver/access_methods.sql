SELECT am.oid,am.* FROM pg_catalog.pg_am am ORDER BY am.oid

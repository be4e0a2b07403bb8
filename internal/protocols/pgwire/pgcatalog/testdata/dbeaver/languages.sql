SELECT g.oid, g.* FROM pg_catalog.pg_language g ORDER BY g.oid

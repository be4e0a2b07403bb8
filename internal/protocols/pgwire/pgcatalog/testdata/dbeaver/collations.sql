SELECT o.oid, o.* FROM pg_catalog.pg_collation o ORDER BY o.oid

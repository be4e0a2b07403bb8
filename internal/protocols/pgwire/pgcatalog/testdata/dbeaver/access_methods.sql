SELECT m.oid, m.* FROM pg_catalog.pg_am m ORDER BY m.oid

SELECT b.datname, pg_database_size(b.oid) FROM pg_catalog.pg_database b WHERE b.oid = 16384

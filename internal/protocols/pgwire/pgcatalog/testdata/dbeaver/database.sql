SELECT b.oid, b.* FROM pg_catalog.pg_database b WHERE datname = 'spice'

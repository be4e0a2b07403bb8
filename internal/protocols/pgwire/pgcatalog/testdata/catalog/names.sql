SELECT table_name::regclass::oid = c.oid AS same, table_name::regclass::text AS "table", table_schema::regnamespace::text AS "schema", c.oid::regclass::oid = c.oid AS oid
FROM information_schema.tables JOIN pg_class c ON relname = table_name WHERE table_schema = 'public' ORDER BY 2

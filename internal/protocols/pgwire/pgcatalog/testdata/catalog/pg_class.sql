SELECT relnamespace::regnamespace AS schema, relname, relkind, oid FROM pg_class ORDER BY ALL

SELECT
    current_database() AS constraint_catalog,
    t_ns.nspname AS constraint_schema,
    ix_cls.relname AS constraint_name,
    current_database() AS table_catalog,
    ix_ns.nspname AS table_schema,
    t.relname AS table_name,
    a.attname AS column_name,
    a.attnum AS ordinal_position,
    ix_cls.relname AS index_name,
    a.attrelid::regclass
FROM
    pg_index ix
    JOIN pg_class t ON t.oid = ix.indrelid
    JOIN pg_class ix_cls ON ix_cls.oid = ix.indexrelid
    JOIN pg_attribute a ON t.oid = a.attrelid
    JOIN pg_namespace t_ns ON t_ns.oid = t.relnamespace
    JOIN pg_namespace ix_ns ON ix_ns.oid = ix_cls.relnamespace
WHERE a.attnum = ANY(ix.indkey) AND t_ns.nspname NOT IN ('pg_catalog')

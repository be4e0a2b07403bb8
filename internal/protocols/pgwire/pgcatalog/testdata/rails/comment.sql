SELECT pg_catalog.obj_description(c.oid, 'pg_class')
FROM pg_catalog.pg_class c
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = 'orders'
  AND c.relkind IN ('r','p')
  AND n.nspname = ANY (current_schemas(false))

SELECT pg_catalog.pg_get_partkeydef(c.oid)
FROM pg_catalog.pg_class c
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = 'orders'
  AND c.relkind IN ('p')
  AND n.nspname = ANY (current_schemas(false))

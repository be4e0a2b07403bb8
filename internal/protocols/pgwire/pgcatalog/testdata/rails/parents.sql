SELECT parent.relname
FROM pg_catalog.pg_inherits i
  JOIN pg_catalog.pg_class child ON i.inhrelid = child.oid
  JOIN pg_catalog.pg_class parent ON i.inhparent = parent.oid
  LEFT JOIN pg_namespace n ON n.oid = child.relnamespace
WHERE child.relname = 'orders'
  AND child.relkind IN ('r','p')
  AND n.nspname = ANY (current_schemas(false))

SELECT s.nspname AS namespace, t.relname AS table_name, k.conname AS constraint_name, k.contype AS constraint_type,
  pg_get_constraintdef(k.oid) AS constraint_definition, k.condeferrable AS is_deferrable, k.condeferred AS is_deferred
FROM pg_constraint k JOIN pg_class AS t ON t.oid = k.conrelid JOIN pg_namespace AS s ON s.oid = t.relnamespace
WHERE s.nspname = ANY ('{public,sales}') AND contype NOT IN ('p', 'u', 'f')
ORDER BY namespace, table_name, k.contype, constraint_name;

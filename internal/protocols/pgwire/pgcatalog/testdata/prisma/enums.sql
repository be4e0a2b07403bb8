SELECT t.typname AS name, e.enumlabel AS value, s.nspname AS namespace, obj_description(t.oid, 'pg_type') AS description
FROM pg_type t JOIN pg_enum e ON t.oid = e.enumtypid JOIN pg_catalog.pg_namespace s ON s.oid = t.typnamespace
WHERE s.nspname = ANY ('{public,sales}') ORDER BY e.enumsortorder

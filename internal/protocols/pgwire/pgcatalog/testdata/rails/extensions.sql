SELECT
  pg_extension.extname,
  n.nspname AS schema
FROM pg_extension
JOIN pg_namespace n ON pg_extension.extnamespace = n.oid

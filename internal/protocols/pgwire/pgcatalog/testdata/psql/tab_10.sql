SELECT nspname FROM pg_catalog.pg_namespace  WHERE nspname LIKE 'p%' AND nspname NOT LIKE E'pg\\_toast%' AND nspname NOT LIKE E'pg\\_temp%'
LIMIT 1000

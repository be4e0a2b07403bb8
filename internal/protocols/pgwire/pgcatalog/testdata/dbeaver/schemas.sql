SELECT s.oid, s.*, t.description
FROM pg_catalog.pg_namespace s
LEFT OUTER JOIN pg_catalog.pg_description t ON t.objoid = s.oid AND t.objsubid = 0 AND t.classoid = 'pg_namespace'::regclass
ORDER BY nspname

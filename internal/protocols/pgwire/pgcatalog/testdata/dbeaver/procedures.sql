SELECT f.oid AS poid, f.*, pg_catalog.pg_get_expr(f.proargdefaults, 0) AS arg_defaults, t.description
FROM pg_catalog.pg_proc f
LEFT OUTER JOIN pg_catalog.pg_description t ON t.objoid = f.oid AND t.classoid = 'pg_proc'::regclass AND t.objsubid = 0
WHERE f.pronamespace = 2200
ORDER BY f.proname

SELECT r.oid, r.*, t.description, pg_catalog.pg_get_expr(r.relpartbound, r.oid) AS partition_expr,
    pg_catalog.pg_get_partkeydef(r.oid) AS partition_key
FROM pg_catalog.pg_class r
LEFT OUTER JOIN pg_catalog.pg_description t ON t.objoid = r.oid AND t.objsubid = 0 AND t.classoid = 'pg_class'::regclass
WHERE r.relnamespace = 2200 AND r.relkind NOT IN ('i', 'I', 'c')

SELECT p.oid as poid,p.*,pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults, d.description
FROM pg_catalog.pg_proc p
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid AND d.objsubid = 0 AND d.classoid = 'pg_proc'::regclass
WHERE p.pronamespace=2200
ORDER BY p.proname

SELECT
    r.oid, r.rolname, r.rolcanlogin, r.rolsuper
FROM
    pg_catalog.pg_roles r
ORDER BY r.rolcanlogin, r.rolname

SELECT u.oid, u.*, t.description
FROM pg_catalog.pg_roles u
LEFT JOIN pg_catalog.pg_shdescription t ON u.oid = t.objoid
ORDER BY u.rolname

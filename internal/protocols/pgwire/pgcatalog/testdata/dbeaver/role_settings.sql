SELECT p.setconfig, b.datname
FROM pg_catalog.pg_db_role_setting p
LEFT JOIN pg_catalog.pg_database b ON p.setdatabase = b.oid
WHERE p.setrole = 10

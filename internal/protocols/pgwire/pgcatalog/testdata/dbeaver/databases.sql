SELECT b.oid, b.* FROM pg_catalog.pg_database b
WHERE 1 = 1 AND datallowconn AND NOT datistemplate OR b.datname = 'spice'
ORDER BY b.datname

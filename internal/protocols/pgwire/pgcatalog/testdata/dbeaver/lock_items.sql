SELECT coalesce(b.datname, '') AS datname, coalesce(k.locktype, '') AS locktype, coalesce(k.relation::regclass::varchar, '') AS relation,
    coalesce(k.mode, '') AS mode, coalesce(k.transactionid::varchar, '') AS tid, k.page AS page, k.tuple AS tuple, k.pid AS pid, k.granted
FROM pg_catalog.pg_locks k
LEFT JOIN pg_catalog.pg_database b ON b.oid = k.database
WHERE k.pid = 1;

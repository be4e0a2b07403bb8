SELECT pg_get_expr(r.relpartbound, r.oid, true) AS partition_range
FROM "pg_catalog".pg_class r WHERE relname = 'orders' AND relnamespace = 2200;

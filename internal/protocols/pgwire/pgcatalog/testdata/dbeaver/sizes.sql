SELECT r.oid, pg_catalog.pg_total_relation_size(r.oid) AS total_rel_size, pg_catalog.pg_relation_size(r.oid) AS rel_size
FROM pg_class r WHERE r.relnamespace = 2200

SELECT h.inhrelid AS relid, up.relnamespace AS parent_ns, up.oid AS parent_oid, h.inhseqno
FROM pg_catalog.pg_inherits h, pg_class down, pg_class up
WHERE down.oid = h.inhrelid AND down.relnamespace = 2200 AND up.oid = h.inhparent

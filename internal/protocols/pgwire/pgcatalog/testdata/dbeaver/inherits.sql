SELECT h.*, r.relnamespace
FROM pg_catalog.pg_inherits h, pg_catalog.pg_class r
WHERE h.inhrelid = 472346800 AND r.oid = h.inhparent
ORDER BY h.inhseqno

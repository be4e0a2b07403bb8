SELECT x.*, x.indkey AS keys, r.relname, r.relnamespace, r.relam, r.reltablespace, tab.relname AS tabrelname, t.description,
    pg_catalog.pg_get_expr(x.indpred, x.indrelid) AS pred_expr, pg_catalog.pg_get_expr(x.indexprs, x.indrelid, true) AS expr,
    pg_catalog.pg_relation_size(x.indexrelid) AS index_rel_size, pg_catalog.pg_stat_get_numscans(x.indexrelid) AS index_num_scans
FROM pg_catalog.pg_index x
INNER JOIN pg_catalog.pg_class r ON r.oid = x.indexrelid
INNER JOIN pg_catalog.pg_class tab ON tab.oid = x.indrelid
LEFT OUTER JOIN pg_catalog.pg_description t ON x.indexrelid = t.objoid
WHERE x.indrelid = 472346800
ORDER BY tabrelname, r.relname

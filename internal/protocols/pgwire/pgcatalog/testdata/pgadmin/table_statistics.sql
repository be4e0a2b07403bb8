SELECT
    st.relname AS "Table name",
    n_tup_ins AS "Tuples inserted",
    n_live_tup AS "Live tuples",
    last_vacuum AS "Last vacuum",
    pg_catalog.pg_size_pretty(pg_catalog.pg_relation_size(st.relid)
        + CASE WHEN cl.reltoastrelid = 0 THEN 0 ELSE pg_catalog.pg_relation_size(cl.reltoastrelid) END
        + COALESCE((SELECT SUM(pg_catalog.pg_relation_size(indexrelid))
                        FROM pg_catalog.pg_index WHERE indrelid=st.relid)::int8, 0)) AS "Size"
FROM
    pg_catalog.pg_stat_all_tables st
JOIN
    pg_catalog.pg_class cl on cl.oid=st.relid and cl.relkind IN ('r','s','t','p')
WHERE
    schemaname = 'public'
ORDER BY st.relname

WITH r AS (
  SELECT indrelid, indexrelid, indisunique, indisprimary, unnest(indkey) AS indkeyid, generate_subscripts(indkey, 1) AS indkeyidx,
    unnest(indclass) AS indclass, unnest(indoption) AS indoption
  FROM pg_index WHERE indpred IS NULL AND NOT indisexclusion
)
SELECT s.nspname AS namespace, i.relname AS index_name, t.relname AS table_name, a.attname AS column_name, r.indisunique AS is_unique, r.indisprimary AS is_primary_key,
  r.indkeyidx AS column_index, o.opcname AS opclass, o.opcdefault AS opcdefault, m.amname AS index_algo,
  CASE r.indoption & 1 WHEN 1 THEN 'DESC' ELSE 'ASC' END AS column_order, CASE r.indoption & 2 WHEN 2 THEN true ELSE false END AS nulls_first,
  k.condeferrable AS condeferrable, k.condeferred AS condeferred
FROM r
INNER JOIN pg_class AS t ON t.oid = r.indrelid INNER JOIN pg_class AS i ON i.oid = r.indexrelid INNER JOIN pg_namespace AS s ON s.oid = t.relnamespace
LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = r.indkeyid INNER JOIN pg_am AS m ON m.oid = i.relam
LEFT JOIN pg_opclass AS o ON o.oid = r.indclass LEFT JOIN pg_constraint k ON r.indexrelid = k.conindid AND k.contype <> 'f'
WHERE s.nspname = ANY ('{public,sales}') ORDER BY namespace, table_name, index_name, column_index;

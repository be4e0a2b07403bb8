SELECT t.relname AS table_name, s.nspname AS namespace, (t.relhassubclass AND t.relkind = 'p') AS is_partition, (t.relhassubclass AND t.relkind = 'r') AS has_subclass,
  t.relkind = 'f' AS is_foreign_table, t.relrowsecurity AS has_row_level_security, reloptions, obj_description(t.oid, 'pg_class') AS description
FROM pg_class AS t INNER JOIN pg_namespace AS s ON s.oid = t.relnamespace
WHERE ((t.relkind = 'r' AND t.relispartition = 'f') OR t.relkind = 'p' OR t.relkind = 'f') AND s.nspname = ANY ('{public,sales}')
ORDER BY namespace, table_name;

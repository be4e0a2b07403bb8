SELECT k.oid AS "con_id", a2.attname AS "child_column", c.relname AS "parent_table", a.attname AS "parent_column", k.confdeltype, k.confupdtype,
  rs.nspname AS "referenced_schema_name", conname AS constraint_name, child, parent, table_name, namespace, condeferrable, condeferred
FROM (
  SELECT s.nspname AS "namespace", unnest(k1.conkey) AS "parent", unnest(k1.confkey) AS "child", c.relname AS table_name, s.nspname AS schema_name,
    generate_subscripts(k1.conkey, 1) AS colidx, k1.oid, k1.confrelid, k1.conrelid, k1.conname, k1.confdeltype, k1.confupdtype,
    k1.condeferrable AS condeferrable, k1.condeferred AS condeferred
  FROM pg_class c JOIN pg_constraint k1 ON k1.conrelid = c.oid JOIN pg_namespace s ON c.relnamespace = s.oid
  WHERE s.nspname = ANY ('{public,sales}') AND k1.contype = 'f' ORDER BY colidx
) k
JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = k.child JOIN pg_class c ON c.oid = k.confrelid
JOIN pg_attribute a2 ON a2.attrelid = k.conrelid AND a2.attnum = k.parent
JOIN pg_class rc ON k.confrelid = rc.oid JOIN pg_namespace rs ON rc.relnamespace = rs.oid
ORDER BY namespace, table_name, constraint_name, con_id, k.colidx;

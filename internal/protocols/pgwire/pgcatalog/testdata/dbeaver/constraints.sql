SELECT n.oid, n.*, r.relname AS tabrelname, other.relnamespace AS refnamespace, t.description,
    CASE WHEN n.contype = 'c' THEN "substring"(pg_get_constraintdef(n.oid), 7) ELSE NULL END AS consrc_copy
FROM pg_catalog.pg_constraint n
INNER JOIN pg_catalog.pg_class r ON r.oid = n.conrelid
LEFT OUTER JOIN pg_catalog.pg_class other ON other.oid = n.confrelid
LEFT OUTER JOIN pg_catalog.pg_description t ON t.objoid = n.oid AND t.objsubid = 0 AND t.classoid = 'pg_constraint'::regclass
WHERE n.conrelid = 472346800
ORDER BY n.oid

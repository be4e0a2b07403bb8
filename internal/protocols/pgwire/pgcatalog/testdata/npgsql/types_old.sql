/* What Npgsql 4 and 5, and so Power BI, read when they connect. */
SELECT ns.nspname, a.typname, a.oid, a.typrelid, a.typbasetype,
CASE WHEN pg_proc.proname='array_recv' THEN 'a' ELSE a.typtype END AS type,
CASE
  WHEN pg_proc.proname='array_recv' THEN a.typelem
  WHEN a.typtype='r' THEN rngsubtype
  ELSE 0
END AS elemoid,
CASE
  WHEN pg_proc.proname IN ('array_recv','oidvectorrecv') THEN 3    /* arrays */
  WHEN a.typtype='r' THEN 2                                        /* ranges */
  WHEN a.typtype='d' THEN 1                                        /* domains */
  ELSE 0                                                           /* others */
END AS ord
FROM pg_type AS a
JOIN pg_namespace AS ns ON (ns.oid = a.typnamespace)
JOIN pg_proc ON pg_proc.oid = a.typreceive
LEFT OUTER JOIN pg_class AS cls ON (cls.oid = a.typrelid)
LEFT OUTER JOIN pg_type AS b ON (b.oid = a.typelem)
LEFT OUTER JOIN pg_class AS elemcls ON (elemcls.oid = b.typrelid)
LEFT OUTER JOIN pg_range ON (pg_range.rngtypid = a.oid)
WHERE
  a.typtype IN ('b', 'r', 'e', 'd') OR
  (a.typtype = 'c' AND cls.relkind='c') OR
  (pg_proc.proname='array_recv' AND (
    b.typtype IN ('b', 'r', 'e', 'd') OR
    (b.typtype = 'p' AND b.typname IN ('record', 'void')) OR
    (b.typtype = 'c' AND elemcls.relkind='c')
  )) OR
  (a.typtype = 'p' AND a.typname IN ('record', 'void'))
ORDER BY ord, a.oid

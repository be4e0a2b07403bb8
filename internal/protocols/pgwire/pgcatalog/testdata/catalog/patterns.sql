SELECT attname, substring(attname FROM '^t.') AS head, substring(attname FROM 'a(.)') AS letter FROM pg_attribute
WHERE attname LIKE 'agg\_%' OR attname LIKE '%\_on' OR attname ~ '^tags$' ORDER BY 1

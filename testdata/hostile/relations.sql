-- want: not_found: is not declared
FROM att.main.k
-- want: not_found: is not declared
FROM att.main.o
-- want: not_found: is not declared
FROM att.o
-- want: not_found: is not declared
FROM "att"."main"."secret"
-- want: not_found: is not declared
FROM ATT.MAIN.SECRET
-- want: not_found: is not declared
FROM main.secret
-- want: not_found: is not declared
FROM memory.main.secret
-- want: not_found: is not declared
FROM temp.main.hidden
-- want: not_found: is not declared
FROM temp.k
-- want: not_found: is not declared
FROM system.main.duckdb_tables
-- want: not_found: is not declared
FROM system.pg_catalog.pg_class
-- want: not_found: is not declared
FROM spice.information_schema.tables
-- want: not_found: is not declared
FROM spice.pg_catalog.pg_class
-- want: not_found: is not declared
FROM core.k
-- want: not_found: is not declared
FROM spice.core.k
-- want: not_found: is not declared
FROM datafusion.k
-- want: not_found: is not declared
FROM "spice.public".k
-- want: not_found: is not declared
FROM spice."public.k"
-- want: not_found: is not declared
FROM "spice"."public"."hidden"
-- want: not_found: is not declared
FROM public.public.k
-- want: not_found: is not declared
FROM att.public.k
-- want: not_found: is not declared
FROM memory.public.k
-- want: not_found: is not declared
FROM pg_catalog.pg_proc
-- want: not_found: is not declared
FROM pg_settings
-- want: not_found: is not declared
FROM pg_views
-- want: not_found: is not declared
FROM pg_namespace
-- want: not_found: is not declared
FROM pg_am
-- want: not_found: is not declared
FROM duckdb_columns
-- want: not_found: is not declared
FROM duckdb_constraints
-- want: not_found: is not declared
FROM duckdb_schemas
-- want: not_found: is not declared
FROM duckdb_indexes
-- want: not_found: is not declared
FROM duckdb_logs
-- want: not_found: is not declared
FROM pragma_version
-- want: not_found: is not declared
FROM sqlite_temp_master
-- want: not_found: is not declared
FROM information_schema.columns
-- want: not_found: is not declared
FROM information_schema.views
-- want: not_found: is not declared
FROM information_schema.character_sets
-- want: not_found: is not declared
FROM "information_schema"."tables"
-- want: not_found: is not declared
FROM spiced.internal
-- want: not_found: is not declared
FROM SPICED.INTERNAL
-- want: not_found: is not declared
FROM ref
-- want: not_found: is not declared
FROM ref.k
-- want: not_found: is not declared
FROM __spiced
-- want: not_found: is not declared
FROM "/etc/passwd"
-- want: not_found: is not declared
FROM 'file:///etc/passwd'
-- want: not_found: is not declared
FROM 'http://127.0.0.1:1/x.csv'
-- want: not_found: is not declared
FROM 'hf://datasets/x/y.csv'
-- want: not_found: is not declared
FROM 'gcs://b/x.parquet'
-- want: not_found: is not declared
FROM '{ROOT}/att.db'
-- want: not_found: is not declared
FROM '{ROOT}/*.csv'
-- want: not_found: is not declared
FROM '{ROOT}/in.csv.gz'
-- want: not_found: is not declared
FROM 'in.csv'
-- want: not_found: is not declared
FROM './in.csv'
-- want: not_found: is not declared
FROM '~/in.csv'
-- want: not_found: is not declared
FROM 'x.json'
-- want: not_found: is not declared
FROM 'x.ndjson'
-- want: not_found: is not declared
FROM 'x.xlsx'
-- want: not_found: is not declared
FROM 'x.parquet'
-- want: not_found: is not declared
FROM 'x.db'
-- want: parse_error: 
FROM public.'in.csv'
-- want: not_found: is not declared
FROM k, 'in.csv'
-- want: not_found: is not declared
FROM k NATURAL JOIN 'in.csv'
-- want: not_found: is not declared
FROM k CROSS JOIN 'in.csv' c
-- want: not_found: is not declared
SELECT 1 FROM (k JOIN hidden ON true)
-- want: not_found: is not declared
SELECT 1 FROM k JOIN (k b JOIN hidden h ON true) ON true
-- want: not_found: is not declared
SELECT 1 FROM (FROM (FROM (FROM hidden)))
-- want: not_found: is not declared
SELECT EXISTS (FROM hidden)
-- want: not_found: is not declared
SELECT NOT EXISTS (FROM hidden WHERE secret > 0)
-- want: not_found: is not declared
SELECT i IN (FROM hidden) FROM k
-- want: not_found: is not declared
SELECT (SELECT secret FROM hidden WHERE secret > k.i) FROM k
-- want: not_found: is not declared
SELECT [(SELECT secret FROM hidden)]
-- want: not_found: is not declared
SELECT list((SELECT secret FROM hidden)) FROM k
-- want: not_found: is not declared
SELECT sum(i) OVER (ORDER BY (SELECT secret FROM hidden)) FROM k
-- want: not_found: is not declared
SELECT 1 ORDER BY (SELECT secret FROM hidden)
-- want: not_found: is not declared
SELECT 1 LIMIT (SELECT secret FROM hidden)
-- want: not_found: is not declared
SELECT 1 OFFSET (SELECT secret FROM hidden)
-- want: not_found: is not declared
SELECT * FROM range((SELECT secret FROM hidden))
-- want: not_found: is not declared
SELECT * FROM unnest((SELECT [secret] FROM hidden))
-- want: not_found: is not declared
SELECT * REPLACE ((SELECT secret FROM hidden) AS i) FROM k
-- want: not_found: is not declared
SELECT COLUMNS(lambda c: (SELECT secret = 1 FROM hidden)) FROM k
-- want: not_found: is not declared
SELECT twice((SELECT secret FROM hidden))
-- want: not_found: is not declared
SELECT * FROM tab((SELECT * FROM k JOIN hidden ON true), 1)
-- want: not_found: is not declared
SELECT * FROM tab("hidden", 1)
-- want: not_found: is not declared
SELECT * FROM tab(spice.public.hidden, 1)
-- want: not_found: is not declared
SELECT * FROM tab(att.main.secret, 1)
-- want: not_found: is not declared
SELECT * FROM tab('att.main.secret', 1)
-- want: not_found: is not declared
SELECT * FROM tab('{ROOT}/in.csv', n := 1)
-- want: not_found: is not declared
SELECT * FROM tab(t := hidden, n := 1)
-- want: not_found: is not declared
SELECT * FROM tab(information_schema.tables, 1)
-- want: not_found: is not declared
SELECT * FROM tab('"hidden"', 1)
-- want: not_found: is not declared
SELECT * FROM tab('k"; DROP TABLE k; --', 1)
-- want: not_found: is not declared
SELECT * FROM tab('(SELECT secret FROM hidden)', 1)
-- want: not_found: is not declared
WITH a AS (SELECT secret FROM hidden), b AS (FROM a) FROM b
-- want: not_found: is not declared
WITH a AS (SELECT 1), a2 AS (SELECT * FROM a, hidden) SELECT 1
-- want: not_found: is not declared
WITH k AS (SELECT * FROM hidden) FROM k
-- want: not_found: is not declared
WITH RECURSIVE k AS (SELECT 1 AS a UNION ALL SELECT secret FROM k, hidden WHERE a < 1) FROM k
-- want: not_found: is not declared
VALUES ((SELECT secret FROM hidden))
-- want: not_found: is not declared
FROM (VALUES ((SELECT secret FROM hidden))) v
-- want: not_found: is not declared
SELECT 1 UNION ALL (FROM hidden)
-- want: not_found: is not declared
SELECT 1 WHERE (1, 2) IN (SELECT secret, 1 FROM hidden)
-- want: not_found: is not declared
EXPLAIN FROM hidden
-- want: not_found: is not declared
EXPLAIN ANALYZE FROM att.main.secret
-- want: not_found: is not declared
DESCRIBE att.main.secret
-- want: not_found: is not declared
SUMMARIZE att.main.secret
-- want: not_found: is not declared
FROM hidden PIVOT (count(*) FOR secret IN (42))
-- want: not_found: is not declared
FROM hidden UNPIVOT (v FOR n IN (secret))
-- want: not_found: is not declared
FROM k SEMI JOIN hidden ON true
-- want: not_found: is not declared
FROM k POSITIONAL JOIN hidden
-- want: not_found: is not declared
FROM hidden TABLESAMPLE 10%
-- want: not_found: is not declared
FROM hidden h(x) SELECT x

-- want: not_found: is not declared
SELECT * FROM hidden
-- want: not_found: is not declared
SELECT * FROM spice.public.hidden
-- want: not_found: is not declared
SELECT * FROM public.hidden
-- want: not_found: is not declared
SELECT * FROM spice.hidden
-- want: not_found: is not declared
SELECT * FROM HIDDEN
-- want: not_found: is not declared
SELECT * FROM "hidden"
-- want: not_found: is not declared
SELECT * FROM att.main.secret
-- want: not_found: is not declared
SELECT * FROM att.secret
-- want: not_found: is not declared
SELECT * FROM memory.main.x
-- want: not_found: is not declared
SELECT * FROM main.hidden
-- want: not_found: is not declared
SELECT * FROM spice.spiced.internal
-- want: not_found: is not declared
SELECT * FROM spiced.internal
-- want: not_found: is not declared
SELECT * FROM information_schema.tables
-- want: not_found: is not declared
SELECT * FROM information_schema.schemata
-- want: not_found: is not declared
SELECT * FROM pg_catalog.pg_class
-- want: not_found: is not declared
SELECT * FROM pg_tables
-- want: not_found: is not declared
SELECT * FROM sqlite_master
-- want: not_found: is not declared
SELECT * FROM sqlite_schema
-- want: not_found: is not declared
SELECT * FROM duckdb_tables
-- want: not_found: is not declared
SELECT * FROM duckdb_settings
-- want: not_found: is not declared
SELECT * FROM duckdb_databases
-- want: not_found: is not declared
SELECT * FROM system.information_schema.tables
-- want: not_found: is not declared
SELECT * FROM temp.main.x
-- want: not_found: is not declared
SELECT * FROM pragma_database_list
-- want: not_found: is not declared
SELECT * FROM duckdb_views
-- want: not_found: is not declared
WITH hidden AS (SELECT * FROM hidden) FROM hidden
-- want: not_found: is not declared
WITH RECURSIVE hidden AS (SELECT secret FROM hidden UNION SELECT secret FROM hidden) FROM hidden
-- want: not_found: is not declared
WITH RECURSIVE hidden AS (SELECT secret FROM hidden UNION ALL SELECT 1 FROM hidden WHERE false) FROM hidden
-- want: not_found: is not declared
WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x, hidden WHERE a < 3) FROM x
-- want: not_found: is not declared
SELECT * FROM (WITH hidden AS (SELECT 1) FROM hidden) a, hidden
-- want: not_found: is not declared
WITH a AS (WITH hidden AS (SELECT 1) FROM hidden) SELECT * FROM a, hidden
-- want: not_found: is not declared
WITH a AS (FROM b), b AS (SELECT 1) FROM a
-- want: not_found: is not declared
(WITH hidden AS (SELECT 1) SELECT * FROM hidden) UNION ALL SELECT * FROM hidden
-- want: not_found: is not declared
WITH hidden AS (SELECT 1) SELECT * FROM public.hidden
-- want: not_found: is not declared
WITH "hıdden" AS (SELECT 1) SELECT * FROM hidden
-- want: not_found: is not declared
WITH "Keys" AS (SELECT 1) SELECT * FROM keys
-- want: not_found: is not declared
SELECT (WITH hidden AS (SELECT 1) SELECT 1), (SELECT secret FROM hidden)
-- want: not_found: is not declared
SELECT * FROM tab(hidden, 1)
-- want: not_found: is not declared
SELECT * FROM tab('hidden', 1)
-- want: not_found: is not declared
SELECT * FROM tab(public.hidden, 1)
-- want: not_found: is not declared
SELECT * FROM tab('spice.spiced.internal', 1)
-- want: not_found: is not declared
SELECT * FROM tab((SELECT secret FROM hidden), 1)
-- want: not_found: is not declared
DESCRIBE hidden
-- want: not_found: is not declared
SUMMARIZE hidden
-- want: not_found: is not declared
SHOW hidden
-- want: not_found: is not declared
FROM (DESCRIBE hidden)
-- want: not_found: is not declared
FROM hidden SELECT 1
-- want: not_found: is not declared
TABLE hidden
-- want: not_found: is not declared
SELECT * FROM recurring.hidden
-- want: not_found: is not declared
SELECT k.i FROM k, hidden
-- want: not_found: is not declared
SELECT * FROM K
-- want: not_found: 
SELECT hidden FROM k
-- want: not_found: 
SELECT nosuch(1)
-- want: not_found: 
SELECT * FROM nosuch(1)
-- want: not_found: 
SELECT iy FROM k
-- want: invalid_argument: not found
SELECT hidden.secret FROM k
-- want: refused: AT 
SELECT * FROM k AT (VERSION => 1)
-- want: refused: AT 
SELECT * FROM k AT (TIMESTAMP => now())
-- want: refused: 
SELECT core.twice(1), 1
-- want: refused: 
SELECT spice.core.twice(1)
-- want: refused: 
SELECT core.twice(1)
-- want: refused: 
SELECT CORE.twice(1)
-- want: refused: 
SELECT "core"."twice"(1)
-- want: refused: 
SELECT * FROM core.tab('hidden', 1)
-- want: refused: 
SELECT i.core.twice(1) FROM k
-- want: invalid_argument: 
SELECT * FROM twice(1)
-- want: invalid_argument: 
SELECT tab('k', 1)
-- want: invalid_argument: 
SELECT twice(1) OVER ()
-- want: invalid_argument: 
SELECT twice()
-- want: invalid_argument: 
SELECT twice(1, 2)
-- want: invalid_argument: 
SELECT twice(y := 1)
-- want: invalid_argument: 
SELECT twice(x := 1, x := 2)
-- want: invalid_argument: 
SELECT twice('abc'::VARCHAR)
-- want: invalid_argument: 
SELECT twice([1])
-- want: invalid_argument: 
SELECT * FROM tab(5, 1)
-- want: invalid_argument: 
SELECT $1
-- want: invalid_argument: 
SELECT ?, ?

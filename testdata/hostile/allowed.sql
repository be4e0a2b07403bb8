-- want: ok
SELECT 42
-- want: ok
SELECT twice(2)
-- want: ok
SELECT public.twice('2')
-- want: ok
SELECT spice.public.twice(2)
-- want: ok
FROM k
-- want: ok
WITH hidden AS (SELECT 1) FROM hidden
-- want: ok
WITH "/etc/passwd" AS (SELECT 1) FROM "/etc/passwd"
-- want: ok
SELECT 'read_csv(''/etc/passwd'')'
-- want: ok
SELECT read_csv FROM (SELECT 1 AS read_csv)
-- want: ok
SELECT 1 -- ; DROP TABLE k
-- want: ok
SELECT 1;
-- want: ok
VALUES (1), (2)
-- want: ok
DESCRIBE k
-- want: ok
SUMMARIZE k
-- want: ok
EXPLAIN SELECT * FROM k
-- want: ok
EXPLAIN ANALYZE SELECT * FROM k
-- want: ok
FROM k PIVOT (count(*) FOR i IN (1, 2))
-- want: ok
SELECT * FROM tab(k, 1)
-- want: ok
SELECT * FROM tab((SELECT 1), 1)
-- want: ok
SELECT 42
-- want: ok
SELECT * REPLACE (i + 1 AS i) FROM k
-- want: ok
WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < 5) FROM r
-- want: ok
SELECT i.twice() FROM k
-- want: ok
SELECT x FROM (SELECT 1 AS x) AT_ WHERE x = 1
-- want: ok
SELECT E'it\\'s'
-- want: ok
SELECT json_extract('{}', '$.a')
-- want: ok
FROM range(3)
-- want: ok
SELECT unnest([1, 2])
-- want: ok
FROM unnest([1, 2])
-- want: ok
FROM json_each('{}')
-- want: ok
SHOW TABLES

-- want: (timeout|limit_exceeded): 
SELECT count(*) FROM range(1000000) a, range(1000000) b
-- want: (timeout|limit_exceeded): 
WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r
-- want: (timeout|limit_exceeded): 
SELECT count(*) FROM k a, k b, k c, k d, k e, k f, k g, k h
-- want: (timeout|limit_exceeded): 
SELECT sum(i) FROM (SELECT unnest(range(1000000)) i FROM range(100000))
-- want: (timeout|limit_exceeded): 
SELECT count(*) FROM range(100000000000)
-- want: (timeout|limit_exceeded): 
EXPLAIN ANALYZE SELECT count(*) FROM range(1000000) a, range(1000000) b
-- want: (timeout|limit_exceeded): 
SELECT max(md5(a.range::VARCHAR)) FROM range(100000000) a, range(1000) b
-- want: (timeout|limit_exceeded): 
SELECT * FROM range(1000000000) a JOIN range(1000000000) b ON a.range % 3 > b.range % 7 ORDER BY ALL
-- want: (timeout|limit_exceeded): 
WITH RECURSIVE a1 AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM a1), a2 AS (SELECT a.n FROM a1 a, a1 b) SELECT count(*) FROM a2
-- want: (timeout|limit_exceeded): 
WITH RECURSIVE r AS (SELECT ['x'] AS l UNION ALL SELECT l || l FROM r) SELECT count(*) FROM r
-- want: (timeout|limit_exceeded): 
WITH RECURSIVE r AS (SELECT 'x' AS s UNION ALL SELECT r.s || 'x' FROM r, k) SELECT count(*) FROM r
-- want: (timeout|limit_exceeded): 
WITH RECURSIVE a AS (SELECT 1 AS n UNION SELECT b.n + 1 FROM a b) SELECT max(n) FROM a
-- want: (timeout|limit_exceeded): 
SELECT (SELECT count(*) FROM range(100000000) b, range(1000) c WHERE b.range > a.i + c.range) FROM k a
-- want: (timeout|limit_exceeded): 
SELECT sum(x) FROM (SELECT sum(range) OVER (ORDER BY md5(range::VARCHAR)) AS x FROM range(1000000000))
-- want: (timeout|limit_exceeded): 
FROM tab((SELECT a.range FROM range(1000000) a, range(1000000) b), 1) SELECT count(*)
-- want: (timeout|limit_exceeded): 
SELECT count(*) FROM k WHERE EXISTS (SELECT 1 FROM range(10000000000) r WHERE r.range = -1 - k.i)

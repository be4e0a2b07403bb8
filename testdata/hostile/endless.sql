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

-- want: refused: is refused
SELECT * FROM read_csv('{ROOT}/in.csv')
-- want: refused: is refused
SELECT * FROM read_csv_auto('{ROOT}/in.csv')
-- want: refused: is refused
SELECT * FROM read_text('/etc/passwd')
-- want: refused: is refused
SELECT * FROM read_blob('/etc/passwd')
-- want: refused: is refused
SELECT * FROM glob('/etc/*')
-- want: refused: is refused
SELECT * FROM glob('{ROOT}/*')
-- want: refused: is refused
SELECT * FROM read_parquet('x.parquet')
-- want: refused: is refused
SELECT * FROM parquet_scan('x')
-- want: refused: is refused
SELECT * FROM parquet_metadata('x')
-- want: refused: is refused
SELECT * FROM parquet_schema('x')
-- want: refused: is refused
SELECT * FROM parquet_file_metadata('x')
-- want: refused: is refused
SELECT * FROM parquet_kv_metadata('x')
-- want: refused: is refused
SELECT * FROM parquet_full_metadata('x')
-- want: refused: is refused
SELECT * FROM parquet_bloom_probe('x','c',1)
-- want: refused: is refused
SELECT * FROM sniff_csv('{ROOT}/in.csv')
-- want: refused: is refused
SELECT * FROM read_json('x.json')
-- want: refused: is refused
SELECT * FROM read_json_auto('x.json')
-- want: refused: is refused
SELECT * FROM read_ndjson('x')
-- want: refused: is refused
SELECT * FROM read_ndjson_objects('x')
-- want: refused: is refused
SELECT * FROM read_json_objects('x')
-- want: refused: is refused
SELECT * FROM read_json_objects_auto('x')
-- want: refused: is refused
SELECT * FROM read_duckdb('x.db')
-- want: refused: is refused
SELECT * FROM seq_scan('hidden')
-- want: refused: is refused
SELECT * FROM arrow_scan(1,2,3)
-- want: refused: is refused
SELECT * FROM arrow_scan_dumb(1,2,3)
-- want: not_found: is not declared
SELECT * FROM '/etc/passwd'
-- want: not_found: is not declared
SELECT * FROM '{ROOT}/in.csv'
-- want: not_found: is not declared
SELECT * FROM "{ROOT}/in.csv"
-- want: not_found: is not declared
FROM '{ROOT}/in.csv'
-- want: not_found: is not declared
DESCRIBE '{ROOT}/in.csv'
-- want: not_found: is not declared
SUMMARIZE '{ROOT}/in.csv'
-- want: not_found: is not declared
FROM (DESCRIBE '{ROOT}/in.csv')
-- want: not_found: is not declared
FROM (SUMMARIZE '{ROOT}/in.csv')
-- want: not_found: is not declared
WITH a AS (SELECT * FROM '{ROOT}/in.csv') SELECT * FROM a
-- want: not_found: is not declared
WITH "{ROOT}/in.csv" AS (SELECT * FROM "{ROOT}/in.csv") SELECT * FROM "{ROOT}/in.csv"
-- want: not_found: is not declared
SELECT * FROM (WITH "{ROOT}/in.csv" AS (SELECT 1) FROM "{ROOT}/in.csv"), "{ROOT}/in.csv"
-- want: not_found: is not declared
WITH RECURSIVE "{ROOT}/in.csv" AS (SELECT * FROM "{ROOT}/in.csv" UNION SELECT * FROM "{ROOT}/in.csv") FROM "{ROOT}/in.csv"
-- want: not_found: is not declared
SELECT (SELECT count(*) FROM '{ROOT}/in.csv')
-- want: not_found: is not declared
SELECT 1 WHERE EXISTS (FROM '{ROOT}/in.csv')
-- want: not_found: is not declared
SELECT 1 WHERE 1 IN (FROM '{ROOT}/in.csv')
-- want: not_found: is not declared
SELECT * FROM k, LATERAL (SELECT * FROM '{ROOT}/in.csv') l
-- want: not_found: is not declared
SELECT 1 UNION SELECT * FROM '{ROOT}/in.csv'
-- want: not_found: is not declared
SELECT 1 UNION ALL BY NAME SELECT * FROM '{ROOT}/in.csv'
-- want: not_found: is not declared
SELECT 1 EXCEPT SELECT * FROM '{ROOT}/in.csv'
-- want: not_found: is not declared
SELECT * FROM k POSITIONAL JOIN '{ROOT}/in.csv'
-- want: not_found: is not declared
SELECT * FROM k ASOF JOIN '{ROOT}/in.csv' c ON k.i >= c.a
-- want: not_found: is not declared
SELECT * FROM k SEMI JOIN '{ROOT}/in.csv' c ON true
-- want: not_found: is not declared
FROM '{ROOT}/in.csv' PIVOT (count(*) FOR a IN (1))
-- want: not_found: is not declared
FROM '{ROOT}/in.csv' UNPIVOT (v FOR n IN (a))
-- want: not_found: is not declared
SELECT * FROM k ORDER BY (SELECT a FROM '{ROOT}/in.csv')
-- want: not_found: is not declared
SELECT * FROM k LIMIT (SELECT a FROM '{ROOT}/in.csv')
-- want: not_found: is not declared
SELECT * FROM k LIMIT 1 OFFSET (SELECT a FROM '{ROOT}/in.csv')
-- want: not_found: is not declared
SELECT sum(i) OVER (ORDER BY i ROWS BETWEEN (SELECT a FROM '{ROOT}/in.csv') PRECEDING AND CURRENT ROW) FROM k
-- want: not_found: is not declared
SELECT sum(i) OVER (PARTITION BY (SELECT a FROM '{ROOT}/in.csv')) FROM k
-- want: not_found: is not declared
SELECT count(*) FILTER ((SELECT true FROM '{ROOT}/in.csv')) FROM k
-- want: not_found: is not declared
SELECT {'a': (SELECT a FROM '{ROOT}/in.csv')}
-- want: not_found: is not declared
SELECT [x FOR x IN (SELECT list(a) FROM '{ROOT}/in.csv')]
-- want: not_found: is not declared
SELECT MAP {'a': (SELECT a FROM '{ROOT}/in.csv')}
-- want: not_found: is not declared
SELECT * REPLACE ((SELECT a FROM '{ROOT}/in.csv') AS i) FROM k
-- want: not_found: is not declared
SELECT CASE WHEN true THEN (SELECT a FROM '{ROOT}/in.csv') END
-- want: not_found: is not declared
SELECT i FROM k GROUP BY i HAVING (SELECT true FROM '{ROOT}/in.csv')
-- want: not_found: is not declared
SELECT i FROM k QUALIFY (SELECT true FROM '{ROOT}/in.csv')
-- want: not_found: is not declared
SELECT string_agg(i, ',' ORDER BY (SELECT a FROM '{ROOT}/in.csv')) FROM k
-- want: not_found: is not declared
SELECT * FROM range((SELECT a FROM '{ROOT}/in.csv'))
-- want: not_found: is not declared
SELECT * FROM tab((SELECT * FROM '{ROOT}/in.csv'), 1)
-- want: not_found: is not declared
SELECT * FROM tab('{ROOT}/in.csv', 1)
-- want: not_found: is not declared
SELECT twice((SELECT a FROM '{ROOT}/in.csv'))
-- want: not_found: is not declared
VALUES ((SELECT a FROM '{ROOT}/in.csv'))
-- want: not_found: is not declared
SELECT (TABLE '{ROOT}/in.csv')
-- want: not_found: is not declared
TABLE '{ROOT}/in.csv'
-- want: not_found: is not declared
SELECT CAST((SELECT a FROM '{ROOT}/in.csv') AS INT)
-- want: not_found: is not declared
SELECT (SELECT a FROM '{ROOT}/in.csv') BETWEEN 1 AND 2
-- want: not_found: is not declared
SELECT ARRAY(SELECT a FROM '{ROOT}/in.csv')
-- want: not_found: is not declared
SELECT COLUMNS(c -> (SELECT true FROM '{ROOT}/in.csv')) FROM k
-- want: not_found: is not declared
SELECT list_transform([1], lambda x: (SELECT a FROM '{ROOT}/in.csv'))
-- want: not_found: is not declared
EXPLAIN SELECT * FROM '{ROOT}/in.csv'
-- want: not_found: is not declared
EXPLAIN ANALYZE SELECT * FROM '{ROOT}/in.csv'
-- want: not_found: is not declared
SELECT * FROM 'https://example.com/x.csv'
-- want: not_found: is not declared
SELECT * FROM 's3://b/x.parquet'
-- want: not_found: is not declared
FROM k SELECT DISTINCT ON ((SELECT a FROM '{ROOT}/in.csv')) i
-- want: refused: is refused
SELECT * FROM read_text(['/etc/passwd'])
-- want: refused: is refused
WITH a AS (SELECT * FROM read_text('/etc/passwd')) FROM a
-- want: refused: is refused
SELECT (SELECT content FROM read_text('/etc/passwd'))
-- want: refused: is refused
SELECT * FROM "read_text"('/etc/passwd')
-- want: refused: is refused
SELECT * FROM READ_TEXT('/etc/passwd')
-- want: refused: is refused
SELECT * FROM system.main.read_text('/etc/passwd')
-- want: refused: is refused
SELECT * FROM main.read_text('/etc/passwd')
-- want: refused: is refused
SELECT * FROM read_text/**/('/etc/passwd')
-- want: refused: is refused
SELECT * FROM read_text --x
('/etc/passwd')
-- want: refused: is refused
SELECT * FROM (SELECT 1) JOIN read_text('/etc/passwd') ON true
-- want: refused: is refused
FROM k, read_text(k.i::VARCHAR)
-- want: refused: is refused
EXPLAIN ANALYZE SELECT * FROM read_text('/etc/passwd')
-- want: refused: is refused
SELECT ('x').read_text()
-- want: refused: is refused
SELECT read_text('x')
-- want: refused: is refused
SELECT i.read_text() FROM k
-- want: refused: is refused
SELECT * FROM tab((FROM read_text('/etc/passwd')), 1)
-- want: refused: is refused
SELECT * FROM read_csv(filename := '{ROOT}/in.csv')
-- want: refused: is refused
DESCRIBE FROM read_csv('{ROOT}/in.csv')

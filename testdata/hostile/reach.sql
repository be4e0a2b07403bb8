-- want: refused: is refused
FROM k, LATERAL read_text(k.i::VARCHAR)
-- want: refused: is refused
FROM k, LATERAL (SELECT * FROM glob('*' || k.i))
-- want: refused: is refused
SELECT (FROM read_text('/etc/passwd') LIMIT 1)
-- want: refused: is refused
SELECT unnest((SELECT list(content) FROM read_text('/etc/passwd')))
-- want: refused: is refused
FROM unnest((SELECT list(file) FROM glob('/*')))
-- want: refused: is refused
SELECT * FROM (VALUES (1)) v(a), read_blob('/etc/passwd')
-- want: refused: is refused
SELECT list_transform(['/etc/passwd'], lambda p: (SELECT content FROM read_text(p)))
-- want: refused: is refused
SELECT list_reduce([1, 2], lambda a, b: a + length(current_setting('threads')))
-- want: refused: is refused
SELECT list_filter([1], lambda x: getvariable('x') IS NULL)
-- want: refused: is refused
SELECT apply([1], x -> nextval('s'))
-- want: refused: is refused
SELECT twice((SELECT count(*) FROM glob('*')))
-- want: refused: is refused
SELECT twice(getvariable('x'))
-- want: refused: is refused
SELECT * FROM tab((FROM duckdb_settings()), 1)
-- want: refused: is refused
SELECT * FROM tab((FROM tab((FROM read_csv('{ROOT}/in.csv')), 1)), 1)
-- want: refused: is refused
SELECT * FROM tab((SELECT current_setting('threads')), 1)
-- want: refused: is refused
FROM query('FROM ' || 'hidden')
-- want: refused: is refused
FROM query((SELECT 'SELECT 1'))
-- want: refused: is refused
FROM query($1)
-- want: invalid_argument: takes a table
FROM query_table('hid' || 'den')
-- want: invalid_argument: takes a table
FROM query_table(['k', 'hidden'], true)
-- want: not_found: not declared
FROM query_table($$hidden$$)
-- want: refused: is refused
FROM query_table(getvariable('t'))
-- want: refused: is refused
FROM tab(query_table('hidden'), 1)
-- want: refused: is refused
FROM json_execute_serialized_sql(json_serialize_sql('FROM hidden'))
-- want: refused: is refused
SELECT json_execute_serialized_sql(json_serialize_sql('FROM hidden'))
-- want: refused: is refused
FROM duckdb_secrets(redact := false)
-- want: refused: is refused
FROM duckdb_logs_parsed('HTTP')
-- want: refused: is refused
FROM duckdb_log_contexts()
-- want: refused: is refused
FROM duckdb_optimizers()
-- want: refused: is refused
FROM duckdb_keywords()
-- want: refused: is refused
FROM duckdb_constraints()
-- want: refused: is refused
FROM duckdb_indexes()
-- want: refused: is refused
FROM duckdb_dependencies()
-- want: refused: is refused
FROM duckdb_approx_database_count()
-- want: refused: is refused
FROM pragma_collations()
-- want: refused: is refused
FROM pragma_metadata_info('att')
-- want: refused: is refused
FROM pragma_version()
-- want: refused: is refused
FROM pragma_show('hidden')
-- want: refused: is refused
FROM enable_logging('QueryLog', level := 'debug')
-- want: refused: is refused
FROM enable_logging(storage := 'stdout')
-- want: refused: is refused
FROM enable_profile(save_location := '{ROOT}/p')
-- want: not_found: 
FROM set_log_level('debug')
-- want: refused: is refused
FROM read_csv(['{ROOT}/in.csv', '/etc/passwd'])
-- want: refused: is refused
FROM read_csv('http://127.0.0.1:1/x.csv')
-- want: refused: is refused
FROM read_parquet('s3://b/*.parquet', hive_partitioning := true)
-- want: refused: is refused
FROM read_json('https://127.0.0.1:1/x.json')
-- want: refused: is refused
FROM read_csv('{ROOT}/in.csv', store_rejects := true)
-- want: refused: is refused
FROM read_csv_auto('/dev/stdin')
-- want: refused: is refused
FROM read_text('/proc/self/environ')
-- want: refused: is refused
FROM read_blob('/proc/self/mem')
-- want: refused: is refused
FROM read_text('{ROOT}/../../../etc/passwd')
-- want: refused: is refused
FROM parquet_metadata('{ROOT}/*.parquet')
-- want: refused: is refused
FROM sniff_csv('/etc/passwd', sample_size := 1)
-- want: refused: is refused
FROM glob(['/*', '/etc/*'])
-- want: refused: is refused
FROM seq_scan('spice', 'public', 'hidden')
-- want: not_found: 
FROM index_scan()
-- want: not_found: 
FROM python_map_function()
-- want: not_found: 
FROM pandas_scan(1)
-- want: not_found: 
FROM sqlite_scan('x', 'y')
-- want: not_found: 
FROM postgres_scan('', 'public', 'x')
-- want: not_found: 
FROM st_read('x')
-- want: not_found: 
FROM iceberg_scan('x')
-- want: not_found: 
FROM delta_scan('x')
-- want: not_found: 
FROM ducklake_snapshots('x')
-- want: not_found: 
FROM shellfs('ls |')
-- want: not_found: 
FROM read_xlsx('x.xlsx')
-- want: refused: is refused
FROM repeat_row(current_setting('threads'), num_rows := 1)
-- want: refused: is refused
FROM range(0, (SELECT count(*) FROM glob('*')), 1)
-- want: refused: is refused
FROM generate_series(1, length(current_setting('threads')))
-- want: refused: is refused
FROM json_each((SELECT content FROM read_text('/etc/passwd')))
-- want: refused: is refused
FROM unnest([current_setting('threads')])
-- want: refused: is refused
SELECT unnest([getvariable('x')])
-- want: refused: is refused
SELECT * FROM k TABLESAMPLE reservoir(1) JOIN read_text('x') ON true
-- want: refused: is refused
SELECT * FROM k WHERE i = ANY (SELECT size FROM read_text('/etc/passwd'))
-- want: refused: is refused
SELECT * FROM k WHERE (i, 1) IN (SELECT size, 1 FROM read_text('/etc/passwd'))
-- want: refused: is refused
SELECT * FROM k WHERE i > ALL (SELECT size FROM glob('*'))
-- want: refused: is refused
SELECT i FROM k GROUP BY ALL HAVING count(*) > (SELECT count(*) FROM glob('*'))
-- want: refused: is refused
SELECT sum(i) OVER w FROM k WINDOW w AS (PARTITION BY getvariable('x'))
-- want: refused: is refused
SELECT i FROM k ORDER BY ALL LIMIT (SELECT length(current_setting('threads')))
-- want: refused: is refused
SELECT DISTINCT ON (current_setting('threads')) i FROM k
-- want: refused: is refused
SELECT i, current_setting('threads') AS s FROM k GROUP BY ROLLUP (i, s)
-- want: refused: is refused
SELECT * LIKE current_setting('threads') FROM k
-- want: refused: is refused
SELECT COLUMNS([x FOR x IN (*) IF x = current_setting('threads')]) FROM k
-- want: refused: is refused
SELECT struct_pack(a := current_setting('threads'))
-- want: refused: is refused
SELECT row(1, getvariable('x'))
-- want: refused: is refused
SELECT {'a': {'b': [getvariable('x')]}}
-- want: refused: is refused
SELECT MAP {getvariable('x'): 1}
-- want: refused: is refused
SELECT [1, 2][length(current_setting('threads')):]
-- want: refused: is refused
SELECT 'x' || getvariable('x')
-- want: refused: is refused
SELECT i FROM k WHERE i BETWEEN 0 AND nextval('s')
-- want: refused: is refused
SELECT CAST(getvariable('x') AS STRUCT(a INT))
-- want: refused: is refused
SELECT INTERVAL (length(current_setting('threads'))) DAY
-- want: refused: is refused
SELECT EXTRACT(year FROM getvariable('x'))
-- want: refused: is refused
SELECT position(getvariable('x') IN 'x')
-- want: refused: is refused
SELECT substring('x' FROM length(current_setting('threads')))
-- want: refused: is refused
SELECT overlay('x' PLACING getvariable('x') FROM 1)
-- want: refused: is refused
SELECT trim(BOTH getvariable('x') FROM 'x')
-- want: refused: is refused
SELECT getvariable('x') AT TIME ZONE 'UTC'
-- want: refused: is refused
SELECT coalesce(NULL, getvariable('x'))
-- want: refused: is refused
SELECT nullif(getvariable('x'), 1)
-- want: refused: is refused
SELECT greatest(1, nextval('s'))
-- want: refused: is refused
SELECT getvariable('x') IS DISTINCT FROM 1
-- want: refused: is refused
SELECT NOT getvariable('x')
-- want: refused: is refused
SELECT -getvariable('x')
-- want: refused: is refused
SELECT getvariable('x') ->> '$.a'
-- want: refused: is refused
SELECT getvariable('x') SIMILAR TO 'a'
-- want: refused: is refused
SELECT 1 FROM k ASOF JOIN k b ON k.i >= b.i AND getvariable('x') = 1
-- want: refused: is refused
SELECT 1 FROM k JOIN k b USING (i) WHERE write_log('x') IS NULL
-- want: refused: is refused
SELECT 1 FROM k ANTI JOIN (FROM glob('*')) g ON true
-- want: refused: is refused
FROM k PIVOT (max(length(current_setting('threads'))) FOR i IN (1))
-- want: refused: is refused
FROM (FROM glob('*')) UNPIVOT (v FOR n IN (file))
-- want: refused: is refused
WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + length(current_setting('threads')) FROM r WHERE a < 3) FROM r
-- want: refused: is refused
WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r, glob('*') WHERE a < 3) FROM r
-- want: refused: is refused
WITH RECURSIVE r(a) USING KEY (a) AS (SELECT 1 UNION SELECT size FROM r, read_text('x')) FROM r
-- want: refused: is refused
WITH a AS MATERIALIZED (FROM read_text('x')) SELECT 1
-- want: refused: is refused
WITH a AS NOT MATERIALIZED (SELECT nextval('s')) SELECT 1
-- want: refused: is refused
SELECT 1 UNION (SELECT length(current_setting('threads')))
-- want: refused: is refused
SELECT 1 INTERSECT ALL SELECT nextval('s')
-- want: refused: is refused
(SELECT 1) EXCEPT (SELECT size FROM read_text('x'))
-- want: refused: is refused
DESCRIBE SELECT current_setting('threads')
-- want: refused: is refused
SUMMARIZE SELECT * FROM read_text('/etc/passwd')
-- want: refused: is refused
FROM (SUMMARIZE FROM duckdb_settings())
-- want: refused: is refused
FROM (DESCRIBE FROM query('SELECT 1'))
-- want: refused: is refused
SELECT system.main.getvariable('x')
-- want: refused: is refused
SELECT system.getvariable('x')
-- want: refused: is refused
SELECT temp.main.getvariable('x')
-- want: refused: is refused
SELECT memory.main.getvariable('x')
-- want: refused: is refused
SELECT pg_catalog.current_setting('threads')
-- want: refused: is refused
SELECT spice.main.getvariable('x')
-- want: refused: is refused
SELECT spice.public.getvariable('x')
-- want: refused: is refused
SELECT public.getvariable('x')
-- want: refused: is refused
SELECT datafusion.getvariable('x')
-- want: refused: is refused
SELECT spice.datafusion.current_setting('threads')
-- want: refused: is refused
SELECT k.getvariable() FROM k
-- want: parse_error: 
SELECT 'x'.getvariable()
-- want: refused: is refused
SELECT ('x' || 'y').current_setting()
-- want: refused: is refused
SELECT i.length().nextval() FROM k
-- want: refused: is refused
SELECT getVariable('x')
-- want: refused: is refused
SELECT "GetVariable"('x')
-- want: refused: is refused
SELECT getvariable /* */ ('x')
-- want: refused: is refused
SELECT getvariable
('x')
-- want: refused: is refused
SELECT stats(i) FROM k
-- want: refused: is refused
SELECT vector_type(i) FROM k
-- want: refused: is refused
SELECT getenv('HOME')
-- want: refused: is refused
SELECT current_query()
-- want: refused: is refused
SELECT inet_server_addr()
-- want: refused: is refused
SELECT pg_postmaster_start_time()
-- want: refused: is refused
SELECT pg_get_expr('x', 1)
-- want: refused: is refused
SELECT pg_get_constraintdef(1)

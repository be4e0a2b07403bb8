-- want: refused: is refused
SELECT current_setting('temp_directory')
-- want: refused: is refused
SELECT main.current_setting('threads')
-- want: refused: is refused
SELECT system.main.current_setting('threads')
-- want: refused: is refused
SELECT CURRENT_SETTING('threads')
-- want: refused: is refused
SELECT "current_setting"('threads')
-- want: refused: is refused
SELECT ('threads').current_setting()
-- want: refused: is refused
SELECT * REPLACE (current_setting('temp_directory') AS i) FROM k
-- want: refused: is refused
SELECT k.* REPLACE (current_setting('temp_directory') AS i) FROM k
-- want: refused: is refused
SELECT * EXCLUDE (i), current_setting('threads') FROM k
-- want: refused: is refused
SELECT COLUMNS(lambda c: c = current_setting('threads')) FROM k
-- want: refused: is refused
SELECT list_transform([1], lambda x: current_setting('threads'))
-- want: refused: is refused
SELECT [current_setting('threads') FOR x IN [1]]
-- want: refused: is refused
SELECT getvariable('x')
-- want: refused: is refused
SELECT twice(length(current_setting('threads')))
-- want: refused: is refused
SELECT {'a': current_setting('threads')}.a
-- want: refused: is refused
SELECT max(i ORDER BY current_setting('threads')) FROM k
-- want: refused: is refused
SELECT lag(i, 1, length(current_setting('threads'))) OVER () FROM k
-- want: refused: is refused
SELECT 1 ORDER BY current_setting('threads')
-- want: refused: is refused
SELECT 1 LIMIT length(current_setting('threads'))
-- want: refused: is refused
VALUES (current_setting('threads'))
-- want: refused: is refused
SELECT * FROM range(length(current_setting('threads')))
-- want: refused: is refused
SELECT * FROM k JOIN k b ON current_setting('threads') = ''
-- want: refused: is refused
SELECT CASE current_setting('threads') WHEN '' THEN 1 END
-- want: refused: is refused
SELECT current_setting('threads') COLLATE NOCASE
-- want: refused: is refused
SELECT current_setting('threads')::VARCHAR
-- want: refused: is refused
SELECT try(current_setting('threads'))
-- want: refused: is refused
SELECT count(*) FILTER (current_setting('threads') = '') FROM k
-- want: refused: is refused
SELECT first(i) OVER (ORDER BY current_setting('threads')) FROM k
-- want: refused: is refused
SELECT i FROM k GROUP BY CUBE (i, length(current_setting('threads')))
-- want: refused: is refused
SELECT i FROM k GROUP BY GROUPING SETS ((i), (current_setting('threads')))
-- want: refused: is refused
SELECT (VALUES (current_setting('threads')))
-- want: refused: is refused
SELECT $${}$$ || current_setting('threads')
-- want: refused: is refused
SELECT current_query()
-- want: refused: is refused
SELECT pg_get_viewdef(1)
-- want: refused: is refused
SELECT currval('s')
-- want: refused: is refused
SELECT nextval('s')
-- want: refused: is refused
SELECT setseed(0.5)
-- want: refused: is refused
SELECT pg_sleep(10)
-- want: refused: is refused
SELECT sleep_ms(10)
-- want: refused: is refused
SELECT write_log('x')
-- want: refused: is refused
SELECT i.pg_sleep() FROM k
-- want: refused: is refused
SELECT json_serialize_plan('SELECT 1')
-- want: refused: is refused
SELECT parse_duckdb_log_message('x','y')
-- want: refused: is refused
SELECT __internal_decompress_string(1)
-- want: refused: is refused
SELECT get_block_size('spice')
-- want: refused: is refused
SELECT * FROM duckdb_settings()
-- want: refused: is refused
SELECT * FROM duckdb_secrets()
-- want: refused: is refused
SELECT * FROM which_secret('x','s3')
-- want: refused: is refused
SELECT * FROM duckdb_functions()
-- want: refused: is refused
SELECT * FROM duckdb_tables()
-- want: refused: is refused
SELECT * FROM duckdb_views()
-- want: refused: is refused
SELECT * FROM duckdb_columns()
-- want: refused: is refused
SELECT * FROM duckdb_databases()
-- want: refused: is refused
SELECT * FROM duckdb_schemas()
-- want: refused: is refused
SELECT * FROM duckdb_extensions()
-- want: refused: is refused
SELECT * FROM duckdb_logs()
-- want: refused: is refused
SELECT * FROM duckdb_memory()
-- want: refused: is refused
SELECT * FROM duckdb_temporary_files()
-- want: refused: is refused
SELECT * FROM duckdb_prepared_statements()
-- want: refused: is refused
SELECT * FROM duckdb_variables()
-- want: refused: is refused
SELECT * FROM duckdb_external_file_cache()
-- want: refused: is refused
SELECT * FROM duckdb_types()
-- want: refused: is refused
SELECT * FROM duckdb_sequences()
-- want: refused: is refused
SELECT * FROM pragma_database_size()
-- want: refused: is refused
SELECT * FROM database_list()
-- want: refused: is refused
SELECT * FROM pragma_user_agent()
-- want: refused: is refused
SELECT * FROM pragma_storage_info('k')
-- want: refused: is refused
SELECT * FROM pragma_table_info('hidden')
-- want: refused: is refused
SELECT * FROM storage_info('k')
-- want: refused: is refused
SELECT * FROM show_databases()
-- want: refused: is refused
SELECT * FROM sql_auto_complete('SELECT')
-- want: refused: is refused
SELECT * FROM enable_logging(storage := 'file', storage_path := '/tmp/x')
-- want: refused: is refused
SELECT * FROM disable_logging()
-- want: refused: is refused
SELECT * FROM enable_profiling()
-- want: refused: is refused
SELECT * FROM checkpoint()
-- want: refused: is refused
SELECT * FROM force_checkpoint()
-- want: refused: is refused
SELECT * FROM truncate_duckdb_logs()
-- want: refused: is refused
SELECT * FROM enable_peg_parser()
-- want: refused: is refused
SELECT * FROM disable_optimizer()
-- want: refused: is refused
SELECT * FROM import_database('x')
-- want: refused: is refused
SELECT * FROM query('SELECT 1')
-- want: refused: is refused
SELECT * FROM query('FROM hidden')
-- want: not_found: not declared
SELECT * FROM query_table('hidden')
-- want: invalid_argument: takes a table
SELECT * FROM query_table(['hidden'])
-- want: refused: is refused
SELECT * FROM json_execute_serialized_sql('{}')
-- want: refused: is refused
SELECT * FROM duckdb_profiling_settings()
-- want: refused: is refused
SELECT * FROM duckdb_logs_parsed('x')
-- want: not_found: not declared
SELECT * FROM histogram_values('hidden','secret')
-- want: refused: is refused
SELECT * FROM system.main.query('SELECT 1')
-- want: refused: is refused
SELECT * FROM main.duckdb_settings()
-- want: refused: is refused
SELECT * FROM "QUERY"('SELECT 1')

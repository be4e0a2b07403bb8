-- want: (refused|parse_error): 
SET SESSION threads = 1
-- want: (refused|parse_error): 
SET LOCAL threads = 1
-- want: (refused|parse_error): 
SET threads TO 1
-- want: (refused|parse_error): 
SET TIME ZONE 'UTC'
-- want: (refused|parse_error): 
SET SCHEMA 'att'
-- want: (refused|parse_error): 
SET GLOBAL enable_external_access = true
-- want: (refused|parse_error): 
SET GLOBAL allowed_directories = ['/']
-- want: (refused|parse_error): 
SET allowed_paths = ['/etc/passwd']
-- want: (refused|parse_error): 
SET enable_logging = true
-- want: (refused|parse_error): 
SET log_query_path = '{ROOT}/log'
-- want: (refused|parse_error): 
SET profiling_output = '{ROOT}/profile'
-- want: (refused|parse_error): 
SET enable_profiling = 'json'
-- want: (refused|parse_error): 
SET secret_directory = '{ROOT}'
-- want: (refused|parse_error): 
SET temp_directory = '{ROOT}'
-- want: (refused|parse_error): 
SET home_directory = '{ROOT}'
-- want: (refused|parse_error): 
SET extension_directory = '{ROOT}'
-- want: (refused|parse_error): 
SET custom_extension_repository = 'http://127.0.0.1:1'
-- want: (refused|parse_error): 
SET allow_unsigned_extensions = true
-- want: (refused|parse_error): 
SET errors_as_json = false
-- want: (refused|parse_error): 
SET search_path = 'spice.core'
-- want: (refused|parse_error): 
SET memory_limit = '100GB'
-- want: (refused|parse_error): 
SET access_mode = 'read_write'
-- want: (refused|parse_error): 
SET VARIABLE x = (SELECT secret FROM hidden)
-- want: (refused|parse_error): 
RESET GLOBAL threads
-- want: (refused|parse_error): 
RESET search_path
-- want: (refused|parse_error): 
RESET VARIABLE x
-- want: (refused|parse_error): 
PRAGMA threads = 1
-- want: (refused|parse_error): 
PRAGMA table_info('hidden')
-- want: (refused|parse_error): 
PRAGMA storage_info('hidden')
-- want: (refused|parse_error): 
PRAGMA show_tables
-- want: (refused|parse_error): 
PRAGMA database_list
-- want: (refused|parse_error): 
PRAGMA version
-- want: (refused|parse_error): 
PRAGMA user_agent
-- want: (refused|parse_error): 
PRAGMA functions
-- want: (refused|parse_error): 
PRAGMA platform
-- want: (refused|parse_error): 
PRAGMA enable_logging
-- want: (refused|parse_error): 
PRAGMA enable_checkpoint_on_shutdown
-- want: (refused|parse_error): 
PRAGMA force_checkpoint
-- want: (refused|parse_error): 
PRAGMA memory_limit = '1TB'
-- want: (refused|parse_error): 
PRAGMA enable_object_cache
-- want: (refused|parse_error): 
PRAGMA import_database('{ROOT}/x')
-- want: (refused|parse_error): 
PRAGMA collations
-- want: (refused|parse_error): 
CALL pragma_table_info('hidden')
-- want: (refused|parse_error): 
CALL duckdb_settings()
-- want: (refused|parse_error): 
CALL query('SELECT 1')
-- want: (refused|parse_error): 
CALL checkpoint()
-- want: (refused|parse_error): 
CALL force_checkpoint()
-- want: (refused|parse_error): 
CALL truncate_duckdb_logs()
-- want: (refused|parse_error): 
CALL disable_logging()
-- want: (refused|parse_error): 
CALL enable_profiling()
-- want: (refused|parse_error): 
CALL read_text('/etc/passwd')
-- want: (refused|parse_error): 
CALL range(3)
-- want: (refused|parse_error): 
INSTALL json
-- want: (refused|parse_error): 
INSTALL httpfs FROM community
-- want: (refused|parse_error): 
INSTALL '{ROOT}/x.duckdb_extension'
-- want: (refused|parse_error): 
LOAD json
-- want: (refused|parse_error): 
LOAD '{ROOT}/x.duckdb_extension'
-- want: (refused|parse_error): 
UPDATE EXTENSIONS
-- want: (refused|parse_error): 
UPDATE EXTENSIONS (httpfs)
-- want: (refused|parse_error): 
COPY k TO '{ROOT}/out.parquet' (FORMAT parquet)
-- want: (refused|parse_error): 
COPY k TO '/dev/stdout'
-- want: (refused|parse_error): 
COPY (FROM hidden) TO '{ROOT}/out.json' (FORMAT json)
-- want: (refused|parse_error): 
COPY k TO '{ROOT}/out' (FORMAT csv, PARTITION_BY (i))
-- want: (refused|parse_error): 
COPY k FROM '/etc/passwd' (HEADER false)
-- want: (refused|parse_error): 
COPY FROM DATABASE spice TO att
-- want: (refused|parse_error): 
COPY FROM DATABASE att TO spice (SCHEMA)
-- want: (refused|parse_error): 
COPY k TO PROGRAM 'touch {ROOT}/x'
-- want: (refused|parse_error): 
COPY k FROM STDIN
-- want: (refused|parse_error): 
COPY k TO '/dev/stderr'
-- want: (refused|parse_error): 
COPY (DELETE FROM k) TO '{ROOT}/out.csv'
-- want: (refused|parse_error): 
EXPORT DATABASE '{ROOT}/x' (FORMAT parquet)
-- want: (refused|parse_error): 
EXPORT DATABASE att TO '{ROOT}/x'
-- want: (refused|parse_error): 
ATTACH '{ROOT}/att.db' AS again
-- want: (refused|parse_error): 
ATTACH '{ROOT}/att.db' AS again (READ_ONLY)
-- want: (refused|parse_error): 
ATTACH IF NOT EXISTS '{ROOT}/new.db' AS n
-- want: (refused|parse_error): 
ATTACH OR REPLACE ':memory:' AS spice
-- want: (refused|parse_error): 
ATTACH 'md:x'
-- want: (refused|parse_error): 
ATTACH 'http://127.0.0.1:1/x.db' AS h
-- want: (refused|parse_error): 
ATTACH DATABASE '{ROOT}/new.db'
-- want: (refused|parse_error): 
ATTACH '/etc/passwd' AS p (TYPE sqlite)
-- want: (refused|parse_error): 
DETACH DATABASE IF EXISTS att
-- want: (refused|parse_error): 
DETACH memory
-- want: (refused|parse_error): 
DETACH temp
-- want: (refused|parse_error): 
USE spice.core
-- want: (refused|parse_error): 
USE memory
-- want: (refused|parse_error): 
USE system.main
-- want: (refused|parse_error): 
BEGIN TRANSACTION
-- want: (refused|parse_error): 
BEGIN READ WRITE
-- want: (refused|parse_error): 
START TRANSACTION
-- want: (refused|parse_error): 
START TRANSACTION READ ONLY
-- want: (refused|parse_error): 
COMMIT TRANSACTION
-- want: (refused|parse_error): 
END
-- want: (refused|parse_error): 
ROLLBACK TRANSACTION
-- want: (refused|parse_error): 
SAVEPOINT s
-- want: (refused|parse_error): 
RELEASE SAVEPOINT s
-- want: (refused|parse_error): 
ROLLBACK TO s
-- want: (refused|parse_error): 
CREATE OR REPLACE TABLE k AS SELECT 1
-- want: (refused|parse_error): 
CREATE TABLE IF NOT EXISTS x AS FROM hidden
-- want: (refused|parse_error): 
CREATE TABLE att.main.x (i INT)
-- want: (refused|parse_error): 
CREATE TABLE x AS SELECT * FROM read_text('/etc/passwd')
-- want: (refused|parse_error): 
CREATE OR REPLACE VIEW k AS SELECT 1
-- want: (refused|parse_error): 
CREATE TEMP VIEW k AS SELECT 1
-- want: (refused|parse_error): 
CREATE RECURSIVE VIEW r AS SELECT 1
-- want: (refused|parse_error): 
CREATE MACRO m(x) AS x
-- want: (refused|parse_error): 
CREATE TEMP MACRO twice(x) AS 0
-- want: (refused|parse_error): 
CREATE MACRO m() AS TABLE FROM hidden
-- want: (refused|parse_error): 
CREATE FUNCTION twice(x) AS 0
-- want: (refused|parse_error): 
CREATE OR REPLACE MACRO system.main.abs(x) AS 0
-- want: (refused|parse_error): 
CREATE UNIQUE INDEX ix ON k (i)
-- want: (refused|parse_error): 
CREATE PERSISTENT SECRET s (TYPE http)
-- want: (refused|parse_error): 
CREATE OR REPLACE SECRET s (TYPE http, bearer_token 'x')
-- want: (refused|parse_error): 
CREATE TYPE t AS INT
-- want: (refused|parse_error): 
CREATE SCHEMA att.s
-- want: (refused|parse_error): 
CREATE DATABASE d
-- want: (refused|parse_error): 
CREATE TRIGGER t AFTER INSERT ON k FOR EACH ROW EXECUTE x()
-- want: (refused|parse_error): 
CREATE USER u
-- want: (refused|parse_error): 
CREATE EXTENSION x
-- want: (refused|parse_error): 
ALTER TABLE k RENAME TO z
-- want: (refused|parse_error): 
ALTER TABLE k RENAME COLUMN i TO z
-- want: (refused|parse_error): 
ALTER TABLE k DROP COLUMN i
-- want: (refused|parse_error): 
ALTER TABLE att.main.secret SET SORTED BY (secret)
-- want: (refused|parse_error): 
ALTER VIEW k RENAME TO z
-- want: (refused|parse_error): 
ALTER SEQUENCE s OWNED BY k
-- want: (refused|parse_error): 
ALTER SCHEMA public RENAME TO z
-- want: (refused|parse_error): 
DROP VIEW k
-- want: (refused|parse_error): 
DROP TABLE IF EXISTS k CASCADE
-- want: (refused|parse_error): 
DROP TABLE att.main.secret
-- want: (refused|parse_error): 
DROP SCHEMA public CASCADE
-- want: (refused|parse_error): 
DROP MACRO twice
-- want: (refused|parse_error): 
DROP MACRO TABLE tab
-- want: (refused|parse_error): 
DROP TYPE t
-- want: (refused|parse_error): 
DROP SECRET s
-- want: (refused|parse_error): 
DROP INDEX ix
-- want: (refused|parse_error): 
DROP DATABASE att
-- want: (refused|parse_error): 
DROP SEQUENCE s
-- want: (refused|parse_error): 
COMMENT ON COLUMN k.i IS 'x'
-- want: (refused|parse_error): 
COMMENT ON FUNCTION twice IS 'x'
-- want: (refused|parse_error): 
COMMENT ON VIEW k IS NULL
-- want: (refused|parse_error): 
ANALYZE
-- want: (refused|parse_error): 
VACUUM ANALYZE k
-- want: (refused|parse_error): 
VACUUM FULL
-- want: (refused|parse_error): 
CHECKPOINT spice
-- want: (refused|parse_error): 
CHECKPOINT att
-- want: (refused|parse_error): 
FORCE CHECKPOINT att
-- want: (refused|parse_error): 
PREPARE p AS DELETE FROM k
-- want: (refused|parse_error): 
PREPARE p (INT) AS SELECT $1
-- want: (refused|parse_error): 
EXECUTE p (1)
-- want: (refused|parse_error): 
EXECUTE p (SELECT secret FROM hidden)
-- want: (refused|parse_error): 
DEALLOCATE ALL
-- want: (refused|parse_error): 
DEALLOCATE PREPARE p
-- want: (refused|parse_error): 
DECLARE c CURSOR FOR SELECT 1
-- want: (refused|parse_error): 
FETCH ALL FROM c
-- want: (refused|parse_error): 
LISTEN x
-- want: (refused|parse_error): 
NOTIFY x
-- want: (refused|parse_error): 
LOCK TABLE k
-- want: (refused|parse_error): 
GRANT ALL ON k TO PUBLIC
-- want: (refused|parse_error): 
REVOKE ALL ON k FROM PUBLIC
-- want: (refused|parse_error): 
REINDEX k
-- want: (refused|parse_error): 
CLUSTER k
-- want: (refused|parse_error): 
REFRESH MATERIALIZED VIEW k
-- want: (refused|parse_error): 
DISCARD ALL
-- want: (refused|parse_error): 
DO $$ BEGIN DELETE FROM k; END $$
-- want: (refused|parse_error): 
IMPORT DATABASE '{ROOT}'
-- want: (refused|parse_error): 
LOAD DATA INFILE '/etc/passwd' INTO TABLE k
-- want: (refused|parse_error): 
REPLACE INTO k VALUES (1)
-- want: (refused|parse_error): 
UPSERT INTO k VALUES (1)
-- want: (refused|parse_error): 
MERGE INTO k USING (SELECT 1 AS i) s ON k.i = s.i WHEN MATCHED THEN UPDATE SET i = 2
-- want: (refused|parse_error): 
MERGE INTO orders USING stock ON false WHEN NOT MATCHED THEN INSERT VALUES (9, 'x', 1) RETURNING merge_action
-- want: (refused|parse_error): 
EXPLAIN ANALYZE UPDATE k SET i = 0
-- want: (refused|parse_error): 
EXPLAIN ANALYZE ATTACH '{ROOT}/new.db'
-- want: (refused|parse_error): 
EXPLAIN ANALYZE DROP TABLE k
-- want: (refused|parse_error): 
EXPLAIN ANALYZE SET threads = 1
-- want: (refused|parse_error): 
EXPLAIN ANALYZE PRAGMA database_size
-- want: (refused|parse_error): 
EXPLAIN ANALYZE COPY (SELECT 1) TO '{ROOT}/out.csv'
-- want: (refused|parse_error): 
EXPLAIN ANALYZE (FORMAT json) SELECT 1
-- want: (refused|parse_error): 
EXPLAIN ANALYZE WITH x AS (SELECT 1) DELETE FROM k
-- want: (refused|parse_error): 
EXPLAIN VERBOSE SELECT 1
-- want: (refused|parse_error|not_found): 
SHOW TABLES FROM att
-- want: (refused|parse_error|not_found): 
SHOW VARIABLES
-- want: (refused|parse_error|not_found): 
SHOW FUNCTIONS
-- want: (refused|parse_error|not_found): 
SHOW search_path

-- want: (refused|parse_error): 
SET threads = 1
-- want: (refused|parse_error): 
SET GLOBAL lock_configuration = false
-- want: (refused|parse_error): 
RESET threads
-- want: (refused|parse_error): 
SET VARIABLE x = 1
-- want: (refused|parse_error): 
SET search_path = 'att'
-- want: (refused|parse_error): 
PRAGMA database_size
-- want: (refused|parse_error): 
PRAGMA disable_optimizer
-- want: (refused|parse_error): 
PRAGMA enable_profiling
-- want: (refused|parse_error): 
INSTALL httpfs
-- want: (refused|parse_error): 
LOAD httpfs
-- want: (refused|parse_error): 
FORCE INSTALL httpfs
-- want: (refused|parse_error): 
COPY k TO '{ROOT}/out.csv'
-- want: (refused|parse_error): 
COPY (SELECT 1) TO '{ROOT}/out.csv'
-- want: (refused|parse_error): 
COPY k FROM '{ROOT}/in.csv'
-- want: (refused|parse_error): 
EXPORT DATABASE '{ROOT}/x'
-- want: (refused|parse_error): 
IMPORT DATABASE '{ROOT}/x'
-- want: (refused|parse_error): 
ATTACH ':memory:' AS m
-- want: (refused|parse_error): 
ATTACH '{ROOT}/new.db'
-- want: (refused|parse_error): 
DETACH att
-- want: (refused|parse_error): 
DETACH spice
-- want: (refused|parse_error): 
USE att
-- want: (refused|parse_error): 
BEGIN
-- want: (refused|parse_error): 
BEGIN TRANSACTION READ ONLY
-- want: (refused|parse_error): 
COMMIT
-- want: (refused|parse_error): 
ROLLBACK
-- want: (refused|parse_error): 
ABORT
-- want: (refused|parse_error): 
CREATE TABLE x (i INT)
-- want: (refused|parse_error): 
CREATE TEMP TABLE x AS SELECT 1
-- want: (refused|parse_error): 
CREATE VIEW v AS SELECT 1
-- want: (refused|parse_error): 
CREATE OR REPLACE FUNCTION twice(x) AS 0
-- want: (refused|parse_error): 
CREATE SCHEMA s
-- want: (refused|parse_error): 
CREATE SEQUENCE s
-- want: (refused|parse_error): 
CREATE TYPE t AS ENUM ('a')
-- want: (refused|parse_error): 
CREATE SECRET s (TYPE s3)
-- want: (refused|parse_error): 
CREATE INDEX ix ON k (i)
-- want: (refused|parse_error): 
DROP TABLE k
-- want: (refused|parse_error): 
DROP FUNCTION twice
-- want: (refused|parse_error): 
DROP SCHEMA core CASCADE
-- want: (refused|parse_error): 
INSERT INTO k VALUES (1)
-- want: (refused|parse_error): 
INSERT INTO k SELECT 1
-- want: (refused|parse_error): 
UPDATE k SET i = 0
-- want: (refused|parse_error): 
DELETE FROM k
-- want: (refused|parse_error): 
TRUNCATE k
-- want: (refused|parse_error): 
MERGE INTO k USING k b ON true WHEN MATCHED THEN DELETE
-- want: (refused|parse_error): 
ALTER TABLE k ADD COLUMN z INT
-- want: (refused|parse_error): 
ALTER DATABASE att RENAME TO b
-- want: (refused|parse_error): 
CALL enable_logging()
-- want: (refused|parse_error): 
CALL pragma_version()
-- want: (refused|parse_error): 
PREPARE p AS SELECT 1
-- want: (refused|parse_error): 
EXECUTE p
-- want: (refused|parse_error): 
DEALLOCATE p
-- want: (refused|parse_error): 
CHECKPOINT
-- want: (refused|parse_error): 
FORCE CHECKPOINT
-- want: (refused|parse_error): 
VACUUM
-- want: (refused|parse_error): 
ANALYZE k
-- want: (refused|parse_error): 
COMMENT ON TABLE k IS 'x'
-- want: (refused|parse_error): 
WITH x AS (SELECT 1) INSERT INTO k SELECT * FROM x
-- want: (refused|parse_error): 
WITH x AS (SELECT 1) DELETE FROM k
-- want: (refused|parse_error): 
/**/DELETE FROM k
-- want: (refused|parse_error): 
(DELETE FROM k)
-- want: (refused|parse_error): 
EXPLAIN DELETE FROM k
-- want: (refused|parse_error): 
EXPLAIN ANALYZE DELETE FROM k
-- want: (refused|parse_error): 
EXPLAIN ANALYZE INSERT INTO k SELECT 1
-- want: (refused|parse_error): 
EXPLAIN ANALYZE COPY k TO '{ROOT}/o.csv'
-- want: (refused|parse_error): 
EXPLAIN ANALYZE CREATE TABLE zz AS SELECT 1
-- want: (refused|parse_error): 
EXPLAIN EXPLAIN SELECT 1
-- want: (refused|parse_error): 
EXPLAIN ANALYZE --\rINSERT INTO k --
SELECT 1
-- want: (refused|parse_error): 
EXPLAIN --\rDELETE FROM k --
SELECT 1
-- want: (refused|parse_error): 
EXPLAIN ANALYZE --\rCREATE TABLE zz AS --
SELECT 1
-- want: (refused|parse_error): 
EXPLAIN ANALYZE /* /* */ INSERT INTO k SELECT 1 /* */ */
-- want: (refused|parse_error): 
EXPLAIN PREPARE p AS SELECT 1
-- want: (refused|parse_error): 
EXPLAIN CALL enable_logging()
-- want: (refused|parse_error): 
EXPLAIN ANALYZE EXECUTE p
-- want: (refused|parse_error): 
FROM (PIVOT k ON i USING count(*))
-- want: ok
UNPIVOT k ON i INTO NAME n VALUE v
-- want: (refused|parse_error): 
SHOW ALL TABLES
-- want: (refused|parse_error): 
SHOW DATABASES
-- want: (refused|parse_error): 
DESCRIBE
-- want: (refused|parse_error): 
FROM (SHOW databases)
-- want: (refused|parse_error): 
FROM (SHOW ALL TABLES)
-- want: (refused|parse_error): 
SHOW TABLES FROM spice.core
-- want: (refused|parse_error): 
FROM (SHOW TABLES FROM information_schema)

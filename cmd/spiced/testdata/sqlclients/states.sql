-- Wrong statements, each after its SQLSTATE here and, where it is another, that of
-- PostgreSQL 15 (00000: PostgreSQL runs it). Those that DuckDB runs are in
-- docs/sql.md. The statements are about the table t of sql_states_test.go.
-- 23505
INSERT INTO t VALUES (1,'x',1,NULL,NULL,NULL);
-- 23505
INSERT INTO t VALUES (2,'one',1,NULL,NULL,NULL);
-- 23502
INSERT INTO t VALUES (2,NULL,1,NULL,NULL,NULL);
-- 23514
INSERT INTO t VALUES (2,'x',1000,NULL,NULL,NULL);
-- 22003
INSERT INTO t VALUES (2,'x',100000,NULL,NULL,NULL);
-- 22003
INSERT INTO t(id,name,price) VALUES (2,'x',100000.5);
-- 42703
INSERT INTO t(id,name,nosuch) VALUES (2,'x',100000.5);
-- 42601
INSERT INTO t(id,name) VALUES (2,'x',100000.5);
-- 22008
INSERT INTO t(id,name,d) VALUES (2,'x','2024-02-30');
-- 22007
INSERT INTO t(id,name,d) VALUES (2,'x','abc');
-- 42703
UPDATE t SET nosuch = 1;
-- 42703
INSERT INTO t(id,name) VALUES (9,'nine') RETURNING nosuch;
-- 42703
INSERT INTO t(id,name) VALUES (9,'nine') ON CONFLICT (nosuch) DO NOTHING;
-- 42P10
INSERT INTO t(id,name) VALUES (9,'nine') ON CONFLICT (d) DO NOTHING;
-- 42601
INSERT INTO t(id,name) VALUES (1,'nine') ON CONFLICT DO UPDATE SET d = NULL;
-- 23502
INSERT INTO t(id,name) VALUES (1,'nine') ON CONFLICT (id) DO UPDATE SET id = NULL;
-- 0A000, PostgreSQL 42P01
UPDATE t SET d = NULL RETURNING excluded.d;
-- 23502
UPDATE t SET id = NULL;
-- 22P02
SELECT 'abc'::int;
-- 22007
SELECT 'abc'::date;
-- 22008
SELECT '2024-13-01'::date;
-- 22008
SELECT '2024-13-01'::timestamp;
-- 22007
SELECT 'x'::timestamp;
-- 22008
SELECT '25:00'::time;
-- 22P02
SELECT 'abc'::boolean;
-- 22P02
SELECT 'abc'::uuid;
-- 22P02
SELECT 'abc'::float8;
-- 22P02
SELECT 'abc'::numeric(5,2);
-- 22007
SELECT 'abc'::interval;
-- 22P02
SELECT '{'::json;
-- 22003
SELECT 100000::smallint;
-- 22003
SELECT 10000000000::int;
-- 22003
SELECT '10000000000'::int;
-- 22003
SELECT 2147483647::int + 1::int;
-- 22003
SELECT 9223372036854775807 + 1;
-- 22003
SELECT 9223372036854775807 * 10;
-- 22003
SELECT -9223372036854775808::bigint - 1;
-- 22003
SELECT 12345.67::numeric(4,2);
-- 22003
SELECT 1e40::real;
-- 2201F
SELECT sqrt(-1);
-- 2201E
SELECT ln(0);
-- 2201E
SELECT ln(-1);
-- 42703
SELECT nosuch FROM t;
-- 42P01
SELECT x.id FROM t;
-- 42P01
SELECT * FROM nosuch;
-- 42P01
SELECT * FROM nosuch.t;
-- 42883
SELECT nosuch(1);
-- 42883
SELECT length(1,2,3);
-- 42883
SELECT length();
-- 42712
SELECT * FROM t JOIN t ON true;
-- 42702
SELECT id FROM t a, t b;
-- 42803
SELECT id, count(*) FROM t;
-- 42803
SELECT sum(count(*)) FROM t;
-- 42803
SELECT id FROM t WHERE count(*) > 1;
-- 42803, PostgreSQL 42703
SELECT id FROM t HAVING x;
-- 42601
SELECT (SELECT 1, 2);
-- 21000
SELECT (SELECT id FROM generate_series(1,2) x(id));
-- 42601
SELECT 1 UNION SELECT 1, 2;
-- 42883, PostgreSQL 22P02
SELECT 1 + 'a';
-- 22007
SELECT 1 + DATE '2024-01-01' + 'x'::interval;
-- 42883
SELECT DATE '2024-01-01' + DATE '2024-01-01';
-- 42804, PostgreSQL 22P02
SELECT array[1,2] || 'x';
-- 2201W
SELECT 'a' LIMIT -1;
-- 42P10
SELECT 1 ORDER BY 2;
-- 42P10
SELECT 1 GROUP BY 2;
-- 42601
SELECT * FROM (VALUES (1),(2,3)) x;
-- 42704
SELECT CAST(1 AS nosuchtype);
-- 42P01
SELECT CASE WHEN 1 THEN 2 END FROM nosuch;
-- 2201B
SELECT 'x' ~ '(';
-- 22023
SELECT chr(-1);
-- 22003, PostgreSQL 42883
SELECT repeat('x', 10000000000);
-- 22007
SELECT to_date('x', 'YYYY');
-- 42601
SELECT count(DISTINCT *) FROM t;
-- 42712
WITH a AS (SELECT 1), a AS (SELECT 2) SELECT 1;
-- 42601
SELECT 1 FROM;
-- 42883, PostgreSQL 42809
SELECT row_number() FROM t;
-- 42P20
SELECT id FROM t WHERE row_number() OVER () = 1;
-- 42601
SELECT * FROM t WHERE (1,2) = (1,2,3);
-- 22023
SELECT extract(nosuch FROM DATE '2024-01-01');
-- 22003, PostgreSQL 00000
SELECT 1::bigint << 100;
-- 42883, PostgreSQL 22021
SELECT convert_from('\xff'::bytea, 'UTF8');
-- 22023
SELECT date_trunc('nosuch', DATE '2024-01-01');
-- 22P02
SELECT '[1'::int[];
-- 22023
SELECT '\x0'::bytea;
-- 42P01
INSERT INTO nosuch VALUES (1);
-- 42703
DELETE FROM t WHERE nosuch = 1;
-- 42701
INSERT INTO t(id, id, name) VALUES (1,2,'x');
-- 22003
SELECT factorial(-1);
-- 22003
SELECT 2147483648::int4;
-- 22003
SELECT 5::int2 * 32767::int2;
-- 22003
SELECT abs((-32768)::int2);
-- 42P02
SELECT $1;
-- 42P01
SELECT t.* , x.* FROM t;

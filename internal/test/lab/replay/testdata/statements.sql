SELECT 1 AS x

SELECT * FROM every_type

SELECT * FROM people ORDER BY id

SELECT city, n FROM by_city

FROM kept ORDER BY id

FROM weather ORDER BY town

SELECT measured.t, measured.wind[1] AS first FROM weather ORDER BY town

FROM trips ORDER BY id LIMIT 3

FROM towns ORDER BY town

FROM pages ORDER BY page

FROM remote_trips ORDER BY ALL

FROM spiced_trips ORDER BY ALL

FROM pg_types ORDER BY ALL

SELECT * FROM pg_orders ORDER BY id

SELECT * FROM my_orders ORDER BY id

FROM pg_absent

FROM missing

FROM unknown

FROM unreachable

FROM broken_view

SELECT max(double) AS m FROM kept_view

FROM orders ORDER BY id

FROM "private orders" ORDER BY id

SELECT twice(2), greeting('Ann'), greeting('Ann', word := 'bye')

SELECT greeting()

SELECT greeting(1, 2, 3)

SELECT nosuch(1)

SELECT twise(1)

SELECT * FROM people_in('Oslo')

SELECT * FROM people_in(place := 'Rome')

SELECT p.name, x.name FROM people p, LATERAL people_in(p.city) x ORDER BY ALL

FROM tab(k, 1) ORDER BY i LIMIT 3

FROM tab((SELECT i FROM k WHERE i < 3), n := 7) ORDER BY i

SELECT nested({'a': 1, 'b': ['x', 'y']}) AS n

SELECT fails(i) FROM (VALUES (0), (1), (5)) t(i)

SELECT luhn_python(n), luhn_wasm(n), luhn_http(n) FROM (VALUES (4539578763621486), (2), (NULL), (2)) t(n)

SELECT refused_http(1)

SELECT failing_http(1)

SELECT * FROM py_rows(4)

SELECT py_fails(5)

SELECT py_fails(0)

SELECT wrong_body()

SELECT wrong_test()

SELECT wrong_python()

SELECT wrong_wasm()

SELECT refund(7)

SELECT hidden_tool()

SELECT far_km(2.0)

SELECT tool_invoke('greeting', '{"name": "Ann"}')

SELECT tool_invoke('nosuch', '{}')

SELECT tool_invoke('hawken', '{"task": "hello"}')::JSON->>'text' AS t

SELECT name FROM list_udfs() ORDER BY ALL

DESCRIBE people

SUMMARIZE k

SHOW TABLES

SHOW ALL TABLES

EXPLAIN SELECT name FROM people WHERE city = 'Oslo'

EXPLAIN SELECT luhn_http(i) FROM k WHERE i < 10

EXPLAIN (FORMAT json) SELECT twice(i) FROM k

SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables ORDER BY ALL

SELECT table_name, column_name, ordinal_position, data_type, is_nullable FROM information_schema.columns WHERE table_schema = 'public' ORDER BY ALL

SELECT nspname FROM pg_catalog.pg_namespace ORDER BY ALL

SELECT relname, relkind, relnatts FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY ALL

SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY ALL

SELECT current_database(), current_schema(), current_user, version() LIKE '%PostgreSQL%' AS pg

SELECT name, status, error FROM spiced.datasets ORDER BY ALL

SELECT * EXCLUDE (generation) FROM spiced.load_errors ORDER BY ALL

SELECT * EXCLUDE (checksum, last_used, created_at) FROM spiced.functions ORDER BY ALL

SELECT name, source, risk, description FROM spiced.tools ORDER BY ALL

FROM spiced.agents ORDER BY ALL

SELECT name FROM spiced.models ORDER BY ALL

SELECT table_name FROM information_schema.tables WHERE table_schema = 'spiced' ORDER BY ALL

SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'spiced' ORDER BY ALL

SELECT nosuch FROM people

SELECT nam FROM people

SELECT p.nosuch FROM people p

SELECT * FROM peeple

SELECT name
FROM people
WHERE nosuch = 1

SELECT "Oslo" FROM people

SELECT `name` FROM people

SELECT TOP 2 name FROM people

SELECT name FROM people LIMIT 1, 2

SELECT 1 +

SELECT (1

SELECT 'a

SELECT 1; SELECT 2

SELECT 1::nosuchtype

SELECT 'x'::INT

SELECT 1 / 0 AS a, 1 // 0 AS b

SELECT CAST(300 AS TINYINT)

SELECT DATE '2026-02-30'

SELECT count(*) FROM people HAVING sum(nosuch) > 1

SELECT name, count(*) FROM people

SELECT sum(name) FROM people

SELECT id FROM people UNION SELECT id, name FROM people

WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 5) SELECT sum(i) FROM r

SELECT id, row_number() OVER (PARTITION BY city ORDER BY id) AS n FROM people ORDER BY id

SELECT city, list(name ORDER BY id) AS names, {'n': count(*)} AS s FROM people GROUP BY city ORDER BY city

PIVOT people ON city USING count(*) GROUP BY born ORDER BY born

FROM (PIVOT (FROM people) ON city IN ('Oslo', 'Rome') USING count(*)) ORDER BY id

UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b

SELECT * FROM generate_series(1, 3)

SELECT unnest([1, 2, 3]) AS u

SELECT 'NaN'::DOUBLE, 'Infinity'::DOUBLE, 0.1 + 0.2, 1e300, -0.0

SELECT 170141183460469231731687303715884105727::HUGEINT, 12345678901234567890.123456789::DECIMAL(38,9)

SELECT TIMESTAMP '9999-12-31 23:59:59.999999', DATE '-0044-03-15', TIME '24:00:00', INTERVAL '-1 year 2 days'

SELECT TIMESTAMP_NS '2026-02-03 04:05:06.123456789', TIMESTAMP_S '2026-02-03 04:05:06', '12:00:00+02'::TIMETZ

SELECT '\xDE\xAD'::BLOB, '1010'::BIT, 'a'::ENUM ('a', 'b'), NULL, uuid() IS NOT NULL

SELECT [[1, NULL], NULL, []], MAP {'a': [1], 'b': NULL}, {'x': {'y': NULL}}, [{'k': 'v'}]

SELECT '{"a": [1, 2]}'::JSON AS j, '{"a": 1}'::JSON->>'a' AS a

SELECT union_value(k := 1) AS u, ''::VARCHAR AS empty, chr(0) AS nul, 'ü😀' AS wide

SELECT repeat('x', 10000) AS long

SELECT i FROM range(3000) t(i) ORDER BY i

SELECT to_timestamp(0) AT TIME ZONE 'UTC'

SELECT regexp_matches('abc', 'b+'), 'a' ~ 'A', 'a' ~* 'A', 'abc' SIMILAR TO 'a.c'

SELECT search FROM search('people', 'Alice')

INSERT INTO orders (id, name) VALUES (60, 'sixty')

INSERT INTO orders (id, name) VALUES (61, 'x') RETURNING id AS new, price

INSERT INTO orders SELECT id + 100, name, NULL FROM people

UPDATE orders SET name = upper(name) WHERE id >= 60 RETURNING *

MERGE INTO orders o USING people p ON o.id = p.id WHEN MATCHED THEN UPDATE SET price = 9

DELETE FROM orders WHERE id >= 60

UPDATE orders SET price = CASE id WHEN 1 THEN 1.5 WHEN 2 THEN 2.5 END

INSERT INTO pg_orders (id, customer) VALUES (9, 'c9') RETURNING id, customer, amount

UPDATE pg_orders SET amount = 2.5 WHERE id = 9

DELETE FROM pg_orders WHERE id = 9

INSERT INTO my_orders (id, customer) VALUES (9, 'c9')

UPDATE my_orders SET customer = 'c10' WHERE id = 9

DELETE FROM my_orders WHERE id = 9

INSERT INTO people VALUES (9, 'x', 'y', NULL)

INSERT INTO nosuch VALUES (1)

INSERT INTO orders (nosuch) VALUES (1)

INSERT INTO orders (id) VALUES ('x')

INSERT INTO orders VALUES (1, 'twice', 1)

DELETE FROM stock

TRUNCATE orders

CREATE TABLE x (i INT)

DROP TABLE orders

SET threads = 1

COPY people TO 'x.csv'

ATTACH 'x.db'

LOAD httpfs

CALL pragma_version()

-- want: refused: is read-only
INSERT INTO stock VALUES (1, 'x')
-- want: refused: is read-only
INSERT INTO k SELECT i FROM k
-- want: refused: is read-only
UPDATE k SET i = -1 WHERE i = 0
-- want: refused: is read-only
UPDATE "my table.x" SET v = 0
-- want: refused: is read-only
DELETE FROM k WHERE true
-- want: refused: is read-only
DELETE FROM spice.public.k
-- want: refused: is read-only
DELETE FROM "K"
-- want: refused: is read-only
DELETE/**/FROM/**/k
-- want: refused: is read-only
DELETE FROM k;;;
-- want: refused: row filter
DELETE FROM "private orders"
-- want: refused: row filter
UPDATE "private orders" SET name = 'x'
-- want: refused: row filter
INSERT INTO "private orders" VALUES (9, 'x', 1)
-- want: refused: row filter
INSERT INTO public."Private Orders" SELECT * FROM orders
-- want: not_found: is not declared
DELETE FROM hidden
-- want: not_found: is not declared
DELETE FROM att.main.o
-- want: not_found: is not declared
DELETE FROM att.main.secret
-- want: not_found: is not declared
DELETE FROM att.o
-- want: not_found: is not declared
DELETE FROM main.o
-- want: not_found: is not declared
DELETE FROM o
-- want: not_found: is not declared
DELETE FROM "att.main.o"
-- want: not_found: is not declared
DELETE FROM spice.core.k
-- want: not_found: is not declared
DELETE FROM spice.spiced.internal
-- want: not_found: is not declared
DELETE FROM spiced.datasets
-- want: not_found: is not declared
DELETE FROM information_schema.tables
-- want: not_found: is not declared
DELETE FROM pg_catalog.pg_class
-- want: not_found: is not declared
DELETE FROM duckdb_tables
-- want: not_found: is not declared
DELETE FROM sqlite_master
-- want: not_found: is not declared
DELETE FROM temp.main.x
-- want: not_found: is not declared
DELETE FROM system.main.x
-- want: not_found: is not declared
DELETE FROM "/etc/passwd"
-- want: not_found: is not declared
DELETE FROM "{ROOT}/in.csv"
-- want: not_found: is not declared
DELETE FROM "{ROOT}/att.db"
-- want: not_found: is not declared
DELETE FROM "order s"
-- want: not_found: is not declared
DELETE FROM "orders "
-- want: not_found: is not declared
DELETE FROM оrders
-- want: not_found: is not declared
UPDATE hidden SET secret = 0
-- want: not_found: is not declared
UPDATE att.main.secret SET secret = 0
-- want: not_found: is not declared
UPDATE spice.public.hidden SET secret = 0
-- want: not_found: is not declared
INSERT INTO hidden VALUES (1)
-- want: not_found: is not declared
INSERT INTO att.main.secret VALUES (1)
-- want: not_found: is not declared
INSERT INTO "{ROOT}/in.csv" VALUES (1)
-- want: not_found: is not declared
INSERT INTO spiced.functions SELECT * FROM orders
-- want: not_found: is not declared
INSERT INTO orders (id) SELECT secret FROM hidden
-- want: not_found: is not declared
INSERT INTO orders (id) FROM att.main.secret
-- want: not_found: is not declared
INSERT INTO orders (id) SELECT i FROM att.main.k
-- want: not_found: is not declared
INSERT INTO orders FROM '{ROOT}/in.csv'
-- want: not_found: is not declared
INSERT INTO orders FROM "{ROOT}/in.csv"
-- want: not_found: is not declared
INSERT INTO orders BY NAME FROM '/etc/passwd'
-- want: not_found: is not declared
INSERT INTO orders WITH k AS (FROM hidden) FROM k
-- want: not_found: is not declared
INSERT INTO orders (WITH k AS (SELECT 1) FROM hidden)
-- want: not_found: is not declared
INSERT INTO orders VALUES ((SELECT secret FROM hidden), 'x', 1)
-- want: not_found: is not declared
INSERT INTO orders SELECT 9, 'x', 1 UNION ALL SELECT secret, 'x', 1 FROM hidden
-- want: not_found: is not declared
INSERT INTO orders (id) FROM information_schema.tables
-- want: not_found: is not declared
INSERT INTO orders SELECT * FROM tab(hidden, 1)
-- want: not_found: is not declared
INSERT INTO orders SELECT * FROM tab((FROM hidden), 1)
-- want: not_found: is not declared
INSERT INTO orders (TABLE hidden)
-- want: not_found: is not declared
UPDATE orders SET id = (SELECT secret FROM hidden)
-- want: not_found: is not declared
UPDATE orders SET id = (SELECT max(secret) FROM att.main.secret)
-- want: not_found: is not declared
UPDATE orders SET name = CASE WHEN EXISTS (FROM hidden) THEN 'x' END
-- want: not_found: is not declared
UPDATE orders SET name = 'x' WHERE id IN (FROM hidden)
-- want: not_found: is not declared
UPDATE orders SET name = 'x' WHERE id = (SELECT a FROM '{ROOT}/in.csv')
-- want: not_found: is not declared
UPDATE orders SET name = (TABLE '{ROOT}/in.csv')
-- want: not_found: is not declared
UPDATE orders SET name = (WITH a AS (FROM hidden) FROM a)
-- want: not_found: is not declared
DELETE FROM orders WHERE id IN (SELECT secret FROM hidden)
-- want: not_found: is not declared
DELETE FROM orders WHERE EXISTS (FROM '/etc/passwd')
-- want: not_found: is not declared
DELETE FROM orders WHERE id = (SELECT count(*) FROM att.main.secret)
-- want: not_found: is not declared
DELETE FROM orders WHERE (id, 1) IN (SELECT secret, 1 FROM hidden)
-- want: not_found: is not declared
DELETE FROM orders WHERE id = ANY (FROM hidden)
-- want: refused: is refused
INSERT INTO orders SELECT * FROM read_csv('{ROOT}/in.csv')
-- want: refused: is refused
INSERT INTO orders SELECT 9, content, 1 FROM read_text('/etc/passwd')
-- want: refused: is refused
INSERT INTO orders FROM read_parquet('x')
-- want: refused: is refused
INSERT INTO orders FROM query('SELECT 9')
-- want: not_found: not declared
INSERT INTO orders FROM query_table('hidden')
-- want: refused: is refused
INSERT INTO orders FROM tab((FROM read_text('/etc/passwd')), 1)
-- want: refused: is refused
INSERT INTO orders (name) SELECT file FROM glob('/*')
-- want: refused: is refused
INSERT INTO orders (name) SELECT value FROM duckdb_settings()
-- want: refused: is refused
INSERT INTO orders VALUES (9, current_setting('threads'), 1)
-- want: refused: is refused
INSERT INTO orders VALUES (nextval('s'), 'x', 1)
-- want: refused: is refused
INSERT INTO orders VALUES (9, getvariable('x'), 1)
-- want: refused: is refused
INSERT INTO orders VALUES (9, __spiced('x', 'y'), 1)
-- want: parse_error: 
INSERT INTO orders VALUES (9, 'x'.__spiced('y'), 1)
-- want: refused: is refused
INSERT INTO orders WITH a AS (FROM read_text('x')) SELECT 9, 'x', 1
-- want: refused: is refused
INSERT INTO orders SELECT 9, 'x', 1 ORDER BY current_setting('threads')
-- want: refused: is refused
INSERT INTO orders SELECT 9, 'x', 1 LIMIT length(current_setting('threads'))
-- want: refused: is refused
INSERT INTO orders (DESCRIBE FROM read_text('x'))
-- want: refused: is refused
UPDATE orders SET name = current_setting('threads')
-- want: refused: is refused
UPDATE orders SET name = "current_setting"('threads')
-- want: refused: is refused
UPDATE orders SET name = name.current_setting()
-- want: refused: is refused
UPDATE orders SET name = system.main.current_setting('threads')
-- want: refused: is refused
UPDATE orders SET name = (SELECT content FROM read_text('/etc/passwd'))
-- want: refused: is refused
UPDATE orders SET price = twice(nextval('s'))
-- want: refused: is refused
UPDATE orders SET price = list_transform([1], lambda x: nextval('s'))[1]
-- want: refused: is refused
UPDATE orders SET name = [getvariable('x')][1]
-- want: refused: is refused
UPDATE orders SET name = {'a': getvariable('x')}.a
-- want: refused: is refused
UPDATE orders SET name = 'x', price = setseed(0.1)
-- want: refused: is refused
UPDATE orders SET name = DEFAULT, price = pg_sleep(1)
-- want: refused: is refused
UPDATE orders SET name = write_log('x')
-- want: refused: is refused
UPDATE orders SET name = 'x' WHERE current_setting('threads') = '1'
-- want: refused: is refused
UPDATE orders SET name = 'x' WHERE id IN (SELECT size FROM read_text('x'))
-- want: refused: is refused
UPDATE orders SET name = __spiced('x', 'y')
-- want: refused: is refused
UPDATE orders SET name = name.__spiced('y')
-- want: refused: is refused
DELETE FROM orders WHERE getvariable('x') IS NULL
-- want: refused: is refused
DELETE FROM orders WHERE name = current_query()
-- want: refused: is refused
DELETE FROM orders WHERE sleep_ms(1) IS NULL
-- want: refused: is refused
DELETE FROM orders WHERE id IN (FROM query('SELECT 1'))
-- want: refused: is refused
DELETE FROM orders WHERE EXISTS (FROM glob('/*'))
-- want: refused: is refused
DELETE FROM orders WHERE id = (SELECT max(range) FROM range(length(current_setting('threads'))))
-- want: refused: read_text
INSERT INTO orders VALUES (9, 'x', 1) RETURNING (SELECT content FROM read_text('/etc/passwd'))
-- want: not_found: hidden
INSERT INTO orders VALUES (9, 'x', 1) RETURNING (SELECT secret FROM hidden)
-- want: refused: getvariable
INSERT INTO orders SELECT 9, 'x', 1 RETURNING id, getvariable('v')
-- want: refused: current_setting
INSERT INTO orders DEFAULT VALUES RETURNING current_setting('threads')
-- want: refused: read_text
UPDATE orders SET name = 'x' RETURNING name, read_text('{ROOT}/in.csv')
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x' WHERE id = 1 RETURNING * FROM hidden
-- want: (refused|parse_error): 
DELETE FROM orders RETURNING * INTO OUTFILE 'x'
-- want: refused: is refused
DELETE FROM orders WHERE id = 1 RETURNING read_text('x')
-- want: refused: read-only
INSERT INTO stock VALUES (1, 'x') ON CONFLICT DO NOTHING
-- want: parse_error: WHERE
INSERT INTO orders VALUES (1, 'x', 1) ON CONFLICT (id) WHERE id > 0 DO NOTHING
-- want: refused: read_text
INSERT INTO orders VALUES (1, 'x', 1) ON CONFLICT (id) DO UPDATE SET name = read_text('{ROOT}/in.csv')
-- want: refused: is refused
INSERT INTO orders VALUES (1, 'x', 1) ON CONFLICT DO UPDATE SET name = current_setting('threads')
-- want: not_found: hidden
INSERT INTO orders SELECT 1, 'x', 1 ON CONFLICT (id) DO UPDATE SET name = (SELECT secret FROM hidden) WHERE true
-- want: refused: is refused
INSERT INTO orders VALUES (1, 'x', 1) ON CONFLICT ON CONSTRAINT c DO NOTHING
-- want: refused: is refused
INSERT OR REPLACE INTO orders VALUES (1, 'x', 1)
-- want: refused: is refused
INSERT OR IGNORE INTO orders VALUES (1, 'x', 1)
-- want: refused: is refused
INSERT OR ABORT INTO orders VALUES (1, 'x', 1)
-- want: refused: is refused
UPDATE orders SET name = s.name FROM stock s WHERE s.id = orders.id
-- want: refused: is refused
UPDATE orders SET name = s.content FROM read_text('/etc/passwd') s
-- want: refused: is refused
UPDATE orders SET id = secret FROM hidden
-- want: refused: is refused
UPDATE orders o SET name = 'x' FROM (DELETE FROM orders)
-- want: refused: is refused
DELETE FROM orders USING stock
-- want: refused: is refused
DELETE FROM orders USING hidden WHERE orders.id = hidden.secret
-- want: refused: is refused
DELETE FROM orders o USING read_text('/etc/passwd') r WHERE true
-- want: refused: is refused
WITH a AS (SELECT 9) INSERT INTO orders SELECT 9, 'x', 1
-- want: refused: is refused
WITH a AS (SELECT 9) UPDATE orders SET name = 'x'
-- want: refused: is refused
WITH a AS (SELECT 9) DELETE FROM orders
-- want: refused: is refused
WITH a AS (FROM read_text('/etc/passwd')) INSERT INTO orders SELECT size, content, 1 FROM a
-- want: refused: is refused
WITH RECURSIVE a AS (SELECT 1) DELETE FROM orders
-- want: refused: is refused
WITH a AS (SELECT 9) MERGE INTO orders USING a ON false WHEN NOT MATCHED THEN INSERT VALUES (9, 'x', 1)
-- want: refused: statements are refused
MERGE INTO orders USING orders o ON true WHEN MATCHED THEN DELETE
-- want: refused: statements are refused
TRUNCATE orders
-- want: refused: statements are refused
TRUNCATE TABLE orders
-- want: refused: statements are refused
EXPLAIN INSERT INTO orders VALUES (9, 'x', 1)
-- want: refused: statements are refused
EXPLAIN UPDATE orders SET name = 'x'
-- want: refused: statements are refused
EXPLAIN ANALYZE DELETE FROM orders
-- want: refused: statements are refused
EXPLAIN ANALYZE INSERT INTO orders VALUES (9, 'x', 1)
-- want: refused: statements are refused
COPY orders FROM '{ROOT}/in.csv'
-- want: refused: statements are refused
COPY orders TO '{ROOT}/out.csv'
-- want: refused: statements are refused
DROP VIEW orders
-- want: refused: statements are refused
CREATE OR REPLACE VIEW orders AS SELECT 1
-- want: refused: statements are refused
ALTER TABLE orders ADD COLUMN x INT
-- want: refused: statements are refused
PREPARE p AS DELETE FROM orders
-- want: (refused|parse_error): 
DELETE FROM orders; DELETE FROM orders
-- want: (refused|parse_error): 
DELETE FROM orders; SELECT 1
-- want: (refused|parse_error): 
SELECT 1; DELETE FROM orders
-- want: (refused|parse_error): 
BEGIN; DELETE FROM orders
-- want: (refused|parse_error): 
DELETE FROM orders; COMMIT
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x'; DROP TABLE k
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x;' ; --
DROP TABLE k
-- want: (refused|parse_error): 
INSERT INTO orders VALUES (9, 'x', 1); INSERT INTO orders VALUES (10, 'x', 1);
-- want: (refused|parse_error): 
INSERT INTO orders VALUES (9, 'x', 1);; SELECT 1
-- want: (refused|parse_error): 
INSERT INTO orders SELECT 9, 'x', 1; DROP TABLE k --
-- want: (refused|parse_error): 
INSERT INTO orders VALUES (9, $$;$$, 1); DROP TABLE k
-- want: (refused|parse_error): 
DELETE FROM orders WHERE (id = 1; DROP TABLE k)
-- want: (refused|parse_error): 
UPDATE orders SET name = ('x'; DROP TABLE k)
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x') FROM hidden WHERE (true
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x'), price = (SELECT 1
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x') WHERE (id = 1
-- want: (refused|parse_error): 
UPDATE orders SET name = (('x') WHERE id = 1
-- want: (refused|parse_error): 
UPDATE orders SET name = ['x') WHERE id = 1
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x] WHERE id = 1
-- want: (refused|parse_error): 
DELETE FROM orders WHERE id = 1) OR (true
-- want: (refused|parse_error): 
DELETE FROM orders WHERE id = 1) RETURNING (id
-- want: (refused|parse_error): 
DELETE FROM orders WHERE 1) ; DROP TABLE k; SELECT (1
-- want: (refused|parse_error): 
INSERT INTO orders VALUES (9, 'x', 1)) ON CONFLICT DO NOTHING --
-- want: (refused|parse_error): 
INSERT INTO orders (SELECT 9, 'x', 1) RETURNING id UNION SELECT 1
-- want: (refused|parse_error): 
INSERT INTO orders SELECT 9, 'x', 1) RETURNING (id
-- want: (refused|parse_error): 
UPDATE orders SET name = "x
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x
-- want: (refused|parse_error): 
UPDATE orders SET name = $$x
-- want: (refused|parse_error): 
UPDATE orders SET name = $a$x$b$
-- want: (refused|parse_error): 
UPDATE orders SET name = E'x\\' WHERE id = 1
-- want: not_found: 
UPDATE orders SET name = "x) AS c0 FROM "
-- want: (refused|parse_error): 
DELETE FROM orders WHERE name = "x
-- want: (refused|parse_error): 
DELETE FROM orders WHERE name = 'x
) OR (true
-- want: (refused|parse_error): 
INSERT INTO orders VALUES (9, 'x, 1)
-- want: (refused|parse_error): 
INSERT INTO orders ("id) VALUES (1)
-- want: (refused|parse_error): 
DELETE FROM orders "x
-- want: (refused|parse_error): 
DELETE FROM "orders
-- want: (refused|parse_error): 
UPDATE "orders SET name = 'x'
-- want: (refused|parse_error): 
UPDATE orders SET (name, price) = ('x', 1)
-- want: (refused|parse_error): 
UPDATE orders SET (name, price) = (SELECT 'x', 1)
-- want: (refused|parse_error): 
UPDATE orders SET orders.name = 'x'
-- want: (refused|parse_error): 
UPDATE orders SET name.x = 'x'
-- want: (refused|parse_error): 
UPDATE orders SET name[1] = 'x'
-- want: (refused|parse_error): 
UPDATE orders SET *  = 'x'
-- want: (refused|parse_error): 
UPDATE orders SET name += 'x'
-- want: (refused|parse_error): 
UPDATE orders SET name := 'x'
-- want: (refused|parse_error): 
UPDATE orders SET name == 'x'
-- want: (refused|parse_error): 
UPDATE orders SET name => 'x'
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x',
-- want: (refused|parse_error): 
UPDATE orders SET , name = 'x'
-- want: (refused|parse_error): 
UPDATE orders SET name =
-- want: (refused|parse_error): 
UPDATE orders SET name = , price = 1
-- want: (refused|parse_error): 
UPDATE orders SET name
-- want: (refused|parse_error): 
UPDATE orders SET
-- want: (refused|parse_error): 
UPDATE orders
-- want: not_found: is not declared
UPDATE ONLY orders SET name = 'x'
-- want: not_found: is not declared
UPDATE TABLE orders SET name = 'x'
-- want: (refused|parse_error): 
UPDATE orders, k SET name = 'x'
-- want: (refused|parse_error): 
UPDATE orders JOIN k ON true SET name = 'x'
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x' ORDER BY id LIMIT 1
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x' LIMIT 1
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x' WHERE
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x' WHERE true WHERE true
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x' WHERE CURRENT OF c
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x' WHERE id = 1, name = 'y'
-- want: (refused|parse_error): 
UPDATE orders AS SET name = 'x'
-- want: (refused|parse_error): 
UPDATE orders AS select SET name = 'x'
-- want: (refused|parse_error): 
UPDATE orders a b SET name = 'x'
-- want: (refused|parse_error): 
UPDATE 'orders' SET name = 'x'
-- want: (refused|parse_error): 
UPDATE (SELECT * FROM orders) SET name = 'x'
-- want: (refused|parse_error): 
UPDATE orders SET name = 'x' UNION SELECT 1
-- want: (refused|parse_error): 
UPDATE a.b.c.orders SET name = 'x'
-- want: (refused|parse_error): 
DELETE orders
-- want: (refused|parse_error): 
DELETE FROM
-- want: (refused|parse_error): 
DELETE FROM orders, k
-- want: (refused|parse_error): 
DELETE FROM orders JOIN k ON true
-- want: not_found: is not declared
DELETE FROM ONLY orders
-- want: (refused|parse_error): 
DELETE FROM 'orders'
-- want: (refused|parse_error): 
DELETE FROM (FROM orders)
-- want: (refused|parse_error): 
DELETE FROM orders LIMIT 1
-- want: (refused|parse_error): 
DELETE FROM orders ORDER BY id
-- want: (refused|parse_error): 
DELETE FROM orders WHERE
-- want: (refused|parse_error): 
DELETE FROM orders WHERE id = 1 LIMIT 1
-- want: (refused|parse_error): 
DELETE FROM orders WHERE true UNION SELECT 1
-- want: (refused|parse_error): 
DELETE FROM orders WHERE CURRENT OF c
-- want: invalid_argument: 
DELETE FROM orders WHERE DEFAULT
-- want: (refused|parse_error): 
DELETE FROM orders o p WHERE true
-- want: (refused|parse_error): 
DELETE FROM orders() WHERE true
-- want: (refused|parse_error): 
DELETE FROM orders.
-- want: (refused|parse_error): 
DELETE FROM orders AS
-- want: (refused|parse_error): 
DELETE orders FROM orders
-- want: (refused|parse_error): 
INSERT orders VALUES (9, 'x', 1)
-- want: (refused|parse_error): 
INSERT INTO
-- want: (refused|parse_error): 
INSERT INTO orders
-- want: (refused|parse_error): 
INSERT INTO orders (
-- want: (refused|parse_error): 
INSERT INTO orders ()
-- want: (refused|parse_error): 
INSERT INTO orders () VALUES ()
-- want: (refused|parse_error): 
INSERT INTO orders (id
-- want: (refused|parse_error): 
INSERT INTO orders (id,)
-- want: (refused|parse_error): 
INSERT INTO orders (id)
-- want: (refused|parse_error): 
INSERT INTO orders (id) (name) VALUES (1)
-- want: (refused|parse_error): 
INSERT INTO orders (id) DEFAULT
-- want: (refused|parse_error): 
INSERT INTO orders DEFAULT
-- want: (refused|parse_error): 
INSERT INTO orders DEFAULT VALUES, (1)
-- want: (refused|parse_error): 
INSERT INTO orders VALUES
-- want: (refused|parse_error): 
INSERT INTO orders VALUES ()
-- want: (refused|parse_error): 
INSERT INTO orders AS select VALUES (9, 'x', 1)
-- want: (refused|parse_error): 
INSERT INTO orders BY VALUES (9, 'x', 1)
-- want: (refused|parse_error): 
INSERT INTO orders BY NAME
-- want: (refused|parse_error): 
INSERT INTO orders BY POSITION SELECT 9, 'x', 1
-- want: (refused|parse_error): 
INSERT INTO orders OVERRIDING SYSTEM VALUE VALUES (9, 'x', 1)
-- want: (refused|parse_error): 
INSERT INTO orders SET id = 9
-- want: (refused|parse_error): 
INSERT INTO orders EXECUTE p
-- want: (refused|parse_error): 
INSERT INTO orders DELETE FROM orders
-- want: (refused|parse_error): 
INSERT INTO orders (DELETE FROM orders RETURNING *)
-- want: (refused|parse_error): 
INSERT INTO orders INSERT INTO orders VALUES (9, 'x', 1)
-- want: (refused|parse_error): 
INSERT INTO orders WITH a AS (DELETE FROM orders RETURNING *) FROM a
-- want: (refused|parse_error): 
INSERT INTO orders WITH a AS (INSERT INTO orders VALUES (9, 'x', 1) RETURNING *) FROM a
-- want: (refused|parse_error): 
INSERT INTO orders SELECT * FROM (DELETE FROM orders RETURNING *)
-- want: (refused|parse_error): 
INSERT INTO orders SELECT 9, 'x', 1 INTO x
-- want: not_found: is not declared
INSERT INTO TABLE orders VALUES (9, 'x', 1)
-- want: (refused|parse_error): 
INSERT INTO 'orders' VALUES (9, 'x', 1)
-- want: (refused|parse_error): 
INSERT INTO orders.* VALUES (1)
-- want: (refused|parse_error): 
INSERT INTO orders PIVOT k ON i
-- want: (refused|parse_error): 
INSERT INTO orders COPY k TO 'x'
-- want: (refused|parse_error): 
INSERT INTO orders EXPLAIN SELECT 1
-- want: (refused|parse_error): 
INSERT INTO orders CALL pragma_version()
-- want: (refused|parse_error): 
INSERT OVERWRITE orders VALUES (9, 'x', 1)
-- want: (refused|parse_error): 
INSERT ALL INTO orders VALUES (9, 'x', 1) SELECT 1
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET rowid = 1
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET id = rowid.x
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET "" = 1
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = (SELECT 'a', 'b')
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = *
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = COLUMNS(*)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = count(*)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = unnest(['a', 'b'])
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = first(name) OVER ()
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET id = tab(k, 1)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET id = error('x')
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET id = 'abc'
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET id = 1, id = 2
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET id = NULL
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = att.main.secret.secret
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = k.i
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = hidden.secret
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET price = twice('abc'::VARCHAR)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET price = twice()
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET price = core.twice(1)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = $1
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = ?
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders SET name = o.name
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
UPDATE orders AS o SET name = orders.name
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
DELETE FROM orders WHERE count(*) > 0
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
DELETE FROM orders WHERE name
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
DELETE FROM orders WHERE att.main.o.id = 1
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
DELETE FROM orders WHERE error('x')
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
DELETE FROM orders WHERE $1
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
DELETE FROM orders WHERE twice(1, 2) = 1
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
DELETE FROM orders WHERE id IN (FROM ref('r_1'))
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders VALUES (1, 'twice', 1)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders VALUES (9)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders VALUES (9, 'x', 1, 2)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders VALUES ('abc', 'x', 1)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders VALUES (NULL, 'x', 1)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders (id, id) VALUES (9, 9)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders (rowid) VALUES (9)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders (secret) VALUES (9)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders ("id"")") VALUES (9)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders BY NAME (id) SELECT 9 AS id
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders BY NAME SELECT 9 AS secret
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders VALUES ($1, 'x', 1)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders VALUES (error('x'), 'x', 1)
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders SELECT CAST('abc' AS BIGINT), 'x', 1
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders FROM ref('r_1')
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders FROM stock
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders SHOW TABLES
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders DESCRIBE orders
-- want: (invalid_argument|not_found|execution_error|parse_error|refused): 
INSERT INTO orders DEFAULT VALUES

-- want: not_found: is not declared
SELECT (x, (SELECT max(i) FROM hidden)) -> lower('$') AS v FROM (SELECT 1 x)
-- want: not_found: is not declared
SELECT ((x, (SELECT max(i) FROM hidden)), y) -> lower('$') AS v FROM (SELECT 1 x, 2 y)
-- want: not_found: is not declared
SELECT (x, y, (FROM att.main.secret)) -> (x || y) AS v FROM (SELECT 1 x, 2 y)
-- want: not_found: is not declared
SELECT ((SELECT max(i) FROM hidden), x) -> x AS v FROM (SELECT 1 x)
-- want: not_found: is not declared
SELECT list_transform([1], (x, (SELECT max(i) FROM hidden)) -> x)
-- want: not_found: is not declared
SELECT (x, (SELECT max(a) FROM '{ROOT}/in.csv')) -> lower('$') AS v FROM (SELECT 1 x)
-- want: parse_error: 
SELECT lambda (x, (SELECT max(i) FROM hidden)): x FROM (SELECT 1 x)
-- want: refused: read_text
SELECT (x, (SELECT max(content) FROM read_text('{ROOT}/in.csv'))) -> lower('$') AS v FROM (SELECT 1 x)
-- want: refused: glob
SELECT (x, (SELECT max(file) FROM glob('*'))) -> lower('$') AS v FROM (SELECT 1 x)
-- want: refused: duckdb_tables
SELECT (x, (SELECT max(sql) FROM duckdb_tables())) -> lower('$') AS v FROM (SELECT 1 x)
-- want: refused: getvariable
SELECT (x, getvariable('a')) -> lower('$') AS v FROM (SELECT 1 x)
-- want: refused: internal
SELECT (x, core.__spiced('spiced.tool_calls', '')) -> lower('$') AS v FROM (SELECT 1 x)
-- want: refused: write_log
SELECT (x, write_log('a')) -> lower(x) AS v FROM (SELECT 1 x)
-- want: refused: nested deeper than 16
SELECT x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x -> x FROM (SELECT 1 x)
-- want: refused: nested deeper than 16
SELECT j -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' -> 'a' FROM (SELECT '{}'::JSON j)
-- want: refused: nested deeper than 16
SELECT list_transform([1], lambda x0: list_transform([1], lambda x1: list_transform([1], lambda x2: list_transform([1], lambda x3: list_transform([1], lambda x4: list_transform([1], lambda x5: list_transform([1], lambda x6: list_transform([1], lambda x7: list_transform([1], lambda x8: list_transform([1], lambda x9: list_transform([1], lambda x10: list_transform([1], lambda x11: list_transform([1], lambda x12: list_transform([1], lambda x13: list_transform([1], lambda x14: list_transform([1], lambda x15: list_transform([1], lambda x16: list_transform([1], lambda x17: list_transform([1], lambda x18: list_transform([1], lambda x19: list_transform([1], x -> x)))))))))))))))))))))
-- want: invalid_argument: without quotes in its name
WITH "hid""den" AS (SELECT 1::BIGINT AS i) FROM tab('hid"den', 1)
-- want: invalid_argument: without quotes in its name
WITH """{ROOT}/in.csv""" AS (SELECT 1::BIGINT AS i) FROM tab('"{ROOT}/in.csv"', 1)
-- want: parse_error: contains white space beyond ASCII
SELECT e'\\' ' AS v
-- want: parse_error: contains white space beyond ASCII
SELECT e'\\'' AS v, 'a b' AS w
-- want: parse_error: contains white space beyond ASCII
SELECT 1 AS a$b$, 2 AS "a　b"
-- want: parse_error: contains white space beyond ASCII
WITH "memory.main.hidden" AS (SELECT 1::BIGINT AS i) SELECT b.* FROM (SELECT e'\\'             ' z) q, range(1) tab('i'), tab('memory.main.hidden', 1) b
-- want: ok
SELECT '5 000 $' AS v, "a b" FROM (SELECT 1 AS "a b")
-- want: ok
SELECT j -> 'a' -> 'b' ->> 'c' AS v, list_reduce([1, 2], (x, y) -> x + y) AS w FROM (SELECT '{}'::JSON j)
-- want: ok
SELECT (x, y) -> '$' AS v FROM (SELECT 1 x, 2 y)
-- want: ok
SELECT e'a\\''
'b\\'' AS v
-- want: ok
WITH "A') , (SELECT i AS x$b$ FROM hidden) p WHERE x$b$ <> " AS (SELECT 1::BIGINT AS i) SELECT * FROM tab(e'A'
'\\') , (SELECT i AS x$b$ FROM hidden) p WHERE x$b$ <> ', 1) WHERE $b$' || x$b$ IS NOT NULL

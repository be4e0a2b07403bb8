-- The rows that are the caller's own.
SELECT * FROM people ORDER BY ALL
SELECT * FROM staff ORDER BY ALL
SELECT count(*), min(id), max(id), sum(salary) FROM people
SELECT count(*), min(id), max(id), sum(salary) FROM staff
FROM people_view SELECT * ORDER BY ALL
FROM totals ORDER BY ALL
FROM me
SELECT whoami(), ctx('user_id'), ctx('space_id')
SUMMARIZE people
DESCRIBE people

-- Expressions that fail on a value, and show it.
SELECT CAST(name AS INTEGER) FROM people
SELECT CAST(name AS INTEGER) FROM staff WHERE owner <> 'ann'
SELECT 1 FROM people WHERE CAST(note AS INTEGER) > 0
SELECT 1 FROM staff WHERE CAST(note AS INTEGER) > 0
SELECT 1 FROM people WHERE owner = 'bob' AND CAST(note AS INTEGER) > 0
SELECT 1 FROM staff WHERE owner = 'bob' AND CAST(note AS INTEGER) > 0
SELECT error(note) FROM people WHERE owner = 'bob'
SELECT CASE WHEN owner <> 'ann' THEN error(note) END FROM staff
SELECT 1 / (id - 3) FROM staff WHERE 10 // (id - 3) > 0
SELECT json_extract(note, '$.x') FROM people
SELECT note::JSON FROM staff WHERE owner = 'bob'
SELECT regexp_matches('x', note || '(') FROM people
SELECT regexp_matches('x', note || '(') FROM staff WHERE id = 3
SELECT strptime(note, '%Y') FROM people WHERE id = 3
SELECT note::DATE FROM people_view WHERE id >= 3
SELECT list_value(note)::INTEGER[] FROM staff
SELECT from_json(note, '"BIGINT"') FROM staff
SELECT note::UUID FROM people ORDER BY note DESC LIMIT 1
SELECT 1 FROM people ORDER BY CAST(note AS INTEGER) LIMIT 1
SELECT max(CAST(note AS INTEGER)) FROM staff
SELECT count(*) FROM people GROUP BY CAST(note AS INTEGER)
SELECT row_number() OVER (ORDER BY CAST(note AS INTEGER)) FROM staff
SELECT 1 FROM people QUALIFY row_number() OVER (ORDER BY error(note)) = 1
SELECT DISTINCT ON (CAST(note AS INTEGER)) id FROM staff
SELECT salary::UTINYINT FROM people
SELECT mail::INTEGER FROM people
SELECT * FROM ages
SELECT note FROM ages WHERE owner = 'ann'
SELECT count(*) FROM ages
SELECT age + 1 FROM ages WHERE owner = 'bob'
SUMMARIZE ages
SELECT * FROM open WHERE id IN (SELECT age FROM ages)

-- Plans tell how many rows there are, and of which values.
EXPLAIN SELECT * FROM people
EXPLAIN ANALYZE SELECT * FROM people
EXPLAIN SELECT * FROM staff WHERE salary = 987003
EXPLAIN SELECT salary_of(3)
EXPLAIN SELECT * FROM totals
EXPLAIN SELECT * FROM people_of('bob')
EXPLAIN SELECT * FROM all_of(people)
EXPLAIN SELECT * FROM open WHERE EXISTS (FROM people)

-- What the runtime tells of a dataset.
SELECT name, "rows" FROM spiced.datasets WHERE name IN ('people', 'staff') ORDER BY ALL
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_views()
SELECT * FROM pragma_storage_info('staff')
SELECT * FROM information_schema.tables
SELECT * FROM sqlite_master
SELECT stats(salary) FROM staff

-- What DuckDB knows of all rows must not decide what is left out.
SELECT * FROM staff WHERE id > 5 AND (SELECT error('tell'))
SELECT * FROM staff WHERE id > 6 AND (SELECT error('tell'))
SELECT * FROM staff WHERE salary > 987005 AND (SELECT error('tell'))
SELECT * FROM staff WHERE salary > 987006 AND (SELECT error('tell'))
SELECT * FROM staff WHERE owner IS NULL AND (SELECT error('tell'))
SELECT * FROM staff WHERE id IS NULL AND (SELECT error('tell'))
SELECT * FROM staff JOIN (SELECT 6 AS id, error('tell')) USING (id)
SELECT * FROM staff JOIN (SELECT 7 AS id, error('tell')) USING (id)
SELECT count(*) FROM staff, (SELECT error('tell')) WHERE staff.id > 6

-- Every way to name it.
SELECT note FROM public.people
SELECT note FROM spice.public.people
SELECT note FROM PUBLIC.PEOPLE
SELECT note FROM "people"
SELECT note FROM "PEOPLE" AS t
SELECT note FROM spice."public"."Staff"
SELECT people.note FROM people
SELECT spice.public.people.note FROM spice.public.people
SELECT people FROM people
TABLE people
FROM query_table('people')
FROM query_table('data.t')
FROM query('SELECT * FROM people')
SELECT * FROM main.people
SELECT * FROM temp.people
SELECT * FROM data.t
SELECT * FROM data.main.t
SELECT * FROM spice.core.people
SELECT rowid FROM people
SELECT rowid, note FROM staff
SELECT filename FROM people
SELECT file_row_number FROM people
SELECT * FROM 'people.csv'
SELECT * FROM read_csv('people.csv')
SELECT * FROM read_text('people.csv')
SELECT * FROM glob('*')
SELECT * FROM sniff_csv('people.csv')

-- Every place in which a query may stand.
WITH p AS (SELECT * FROM people) SELECT note FROM p WHERE owner = 'bob'
WITH p AS MATERIALIZED (SELECT * FROM staff) SELECT note FROM p WHERE id > 2
WITH people AS (SELECT * FROM people) SELECT note FROM people
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 6) SELECT n, note FROM r JOIN staff ON n = id
WITH RECURSIVE r AS (SELECT id, note FROM people UNION SELECT p.id, p.note FROM people p, r WHERE p.id = r.id + 1) FROM r ORDER BY ALL
SELECT note FROM people UNION ALL SELECT note FROM staff ORDER BY ALL
SELECT id FROM open EXCEPT SELECT id FROM people ORDER BY ALL
SELECT id FROM open INTERSECT SELECT id FROM staff ORDER BY ALL
SELECT word, (SELECT note FROM people p WHERE p.id = o.id) FROM open o ORDER BY ALL
SELECT word FROM open o WHERE EXISTS (SELECT 1 FROM people p WHERE p.id = o.id) ORDER BY ALL
SELECT word FROM open o WHERE o.id NOT IN (SELECT id FROM staff) ORDER BY ALL
SELECT word FROM open o WHERE o.id = ANY (SELECT id FROM people) ORDER BY ALL
SELECT word FROM open ORDER BY (SELECT note FROM people p WHERE p.id = open.id), word
SELECT word, x.note FROM open, LATERAL (SELECT note FROM people WHERE people.id = open.id) x ORDER BY ALL
SELECT word, x.v FROM open LEFT JOIN LATERAL (SELECT CAST(note AS INTEGER) AS v FROM staff WHERE staff.id = open.id) x ON true
SELECT o.id, s.note FROM open o LEFT JOIN staff s ON s.id = o.id ORDER BY ALL
SELECT o.id, s.note FROM open o RIGHT JOIN staff s USING (id) ORDER BY ALL
SELECT o.id, s.note FROM open o FULL JOIN people s USING (id) ORDER BY ALL
SELECT o.id FROM open o SEMI JOIN people s ON s.id = o.id ORDER BY ALL
SELECT o.id FROM open o ANTI JOIN people s ON s.id = o.id ORDER BY ALL
SELECT o.id, s.note FROM open o POSITIONAL JOIN staff s ORDER BY ALL
SELECT o.id, s.note FROM open o ASOF JOIN staff s ON o.id >= s.id ORDER BY ALL
SELECT o.id FROM open o JOIN staff s ON CAST(s.note AS INTEGER) = o.id
SELECT o.id FROM open o JOIN people s ON s.id = o.id AND CASE WHEN s.owner = 'bob' THEN error(s.note) ELSE true END ORDER BY ALL
SELECT count(*) FROM people a, people b, staff c
SELECT * FROM people USING SAMPLE 100%
SELECT count(*) FROM staff TABLESAMPLE 100%
SELECT note FROM staff USING SAMPLE reservoir(10 ROWS) REPEATABLE (1)
FROM (PIVOT people ON owner USING count(*))
FROM people PIVOT (count(*) FOR owner IN ('ann', 'bob')) ORDER BY ALL
FROM (SELECT id, name, note FROM staff) UNPIVOT (v FOR k IN (name, note)) ORDER BY ALL
SELECT owner, count(*) FROM people GROUP BY ROLLUP (owner) ORDER BY ALL
SELECT note FROM people GROUP BY ALL HAVING max(salary) > 0 OR true ORDER BY ALL
SELECT list(note ORDER BY note) FROM staff
SELECT string_agg(note, ',' ORDER BY note) FILTER (owner <> 'ann') FROM staff
SELECT arg_max(note, id) FROM people
SELECT histogram(owner) FROM people
SELECT approx_count_distinct(owner), count(DISTINCT owner) FROM staff
SELECT lag(note) OVER (ORDER BY id) FROM people ORDER BY ALL
SELECT COLUMNS('not.*') FROM people ORDER BY ALL
SELECT * EXCLUDE (id) REPLACE (upper(note) AS note) FROM people ORDER BY ALL
SELECT to_json(people) FROM people ORDER BY ALL
SELECT unnest(people) FROM people ORDER BY ALL
SELECT (SELECT list(salary) FROM people), (SELECT list(mail) FROM staff)
SELECT note FROM people WHERE true OR owner = 'bob' ORDER BY ALL
SELECT note FROM people LIMIT 9223372036854775807
SELECT note FROM people LIMIT (SELECT count(*) FROM staff) OFFSET 0
SELECT id FROM staff WHERE salary > 987000 OR salary IS NOT NULL
SELECT id FROM staff WHERE mail LIKE '%MARKMAIL%'
SELECT id FROM people WHERE hash(mail) = hash('bob@' || 'MARK' || 'MAIL')
SELECT note, id FROM staff WHERE id IN (3, 4, 5)
SELECT note FROM staff WHERE owner IN (SELECT owner FROM open)
VALUES ((SELECT max(note) FROM people WHERE owner <> 'ann'))

-- Functions, tables as arguments, tools.
SELECT id, salary_of(id), note_of(id) FROM open ORDER BY ALL
SELECT salary_of(3), note_of(3)
SELECT max(note_of(i)) FROM range(10) r(i)
FROM people_of('bob')
FROM people_of('ann') ORDER BY ALL
FROM all_of(people) ORDER BY ALL
FROM all_of('spice.public.staff') ORDER BY ALL
FROM all_of((SELECT id, note FROM staff WHERE owner = 'bob'))
FROM all_of(people_view) ORDER BY ALL
SELECT list_transform([3, 4], lambda x: note_of(x))
SELECT tool_invoke('sql', {query: 'SELECT note FROM people ORDER BY ALL'})
SELECT tool_invoke('sql', {query: 'SELECT note::INTEGER FROM staff'})
SELECT tool_invoke('note_of', {who: 3})
SELECT tool_invoke('note_of', {who: 1})
SELECT tool_invoke('whoami')
SELECT tool_invoke('people_of', {who: 'bob'})
SELECT list_sort(json_extract_string(tool_invoke('random_sample', {dataset: 'staff', 'limit': 10}), '$[*].note'))
SELECT tool_invoke('top_n_sample', {dataset: 'people', 'limit': 10, order_by: 'id DESC'})
SELECT tool_invoke('sample_distinct_columns', {dataset: 'people', 'limit': 10})
SELECT tool_invoke('search', {text: 'third MARKBOB'})
SELECT tool_invoke('search', {text: 'first', 'where': 'note::INTEGER > 0'})
SELECT tool_invoke('table_schema', {tables: ['people']})
SELECT tool_invoke('list_datasets')

-- Another name for the caller.
WITH ctx AS (SELECT 'bob' AS user_id) SELECT note FROM people, ctx WHERE owner = ctx.user_id
SELECT note FROM people, (SELECT 'bob' AS ctx) ORDER BY ALL
SELECT list_transform(['bob'], lambda ctx: (SELECT max(note) FROM people))
SELECT note, user_id FROM people, (SELECT 'bob' AS user_id) ORDER BY ALL
SELECT note FROM staff AS "ctx" ORDER BY ALL
SELECT ctx('stranger')
SELECT ctx(owner) FROM open
SELECT ctx('user' || '_id')
SELECT ctx()
SELECT 'user_id'.ctx()
SELECT spice.datafusion.ctx('user_id')
SELECT __spiced('ctx', 'user_id')
SET VARIABLE user_id = 'bob'
SELECT getvariable('user_id')
CREATE MACRO ctx(name) AS 'bob'
CREATE TEMP MACRO ctx(name) AS 'bob'
CREATE OR REPLACE TEMP VIEW people AS SELECT 1
SELECT note FROM people WHERE owner = ctx('user_id') ORDER BY ALL
SELECT note FROM people WHERE owner <> ctx('user_id')
SELECT current_setting('search_path')
SET search_path = 'core'
PREPARE p AS SELECT * FROM people
EXECUTE p
SELECT * FROM people AT (VERSION => 1)
SELECT * FROM ref('r_0000000000000000')
SELECT 1; SELECT * FROM people
UPDATE people SET owner = 'ann'
DELETE FROM staff
INSERT INTO open SELECT id, owner, note FROM people
COPY people TO 'out.csv'
SELECT (x, (SELECT list(note) FROM 'people.csv')) -> lower('$') AS v FROM (SELECT 1 x)
SELECT (x, (SELECT list(note) FROM people)) -> lower('$') AS v FROM (SELECT 1 x)
SELECT (x, (SELECT max(sql) FROM duckdb_views())) -> lower('$') AS v FROM (SELECT 1 x)
SELECT (x, read_text('spicepod.yaml')) -> lower('$') AS v FROM (SELECT 1 x)
FROM zones
SELECT count(*) FROM zones
SELECT tz FROM zones WHERE timezone(tz, TIMESTAMP '2020-01-01') IS NULL
SELECT tz::TIMESTAMPTZ FROM zones
SELECT nosuch FROM zones

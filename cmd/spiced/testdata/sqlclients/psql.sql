-- A session of psql.
\pset null (null)
SELECT twice(21) AS n, greeting('psql') AS g, twice(NULL) AS nothing;
SELECT * FROM people_in('Oslo');

-- A row as variables.
SELECT count(*) AS people, min(born) AS oldest FROM people \gset
\echo :people :oldest
SELECT :'oldest'::DATE + 1 AS "the day after", :people * 2 AS twice_as_many;

\x
SELECT * FROM every_type;
\x

\set FETCH_COUNT 2
SELECT id, name, city, born FROM people ORDER BY id;
\unset FETCH_COUNT

BEGIN;
DECLARE c CURSOR FOR SELECT id FROM people ORDER BY id;
FETCH 2 FROM c;
FETCH ALL FROM c;
CLOSE c;
SELECT nosuch;
SELECT 1 AS refused_until_the_end;
ROLLBACK;

SELECT id,
       nosuch FROM people;
SELEKT 1;
SELECT twice('x');
SELECT nosuch(1);
SELECT * FROM nosuch;
SELECT * FROM read_csv('/etc/passwd');
INSERT INTO people VALUES (4, 'Dan', 'Rome', NULL);
\set VERBOSITY verbose
SELECT nosuch FROM people;
\set VERBOSITY default

SET statement_timeout = '200ms';
SHOW statement_timeout;
SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5;
RESET statement_timeout;
SELECT 1 AS a \; SELECT 2 AS b;
COPY people TO STDOUT;
COPY (SELECT id, name, born FROM people WHERE id > 1) TO STDOUT (FORMAT csv, HEADER, NULL '-');
\copy (SELECT twice(id) AS n FROM people) TO STDOUT CSV HEADER
COPY people FROM STDIN;

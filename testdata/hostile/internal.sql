-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT __spiced('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT __SPICED('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT "__spiced"('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT "__Spiced"('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT main.__spiced('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT system.main.__spiced('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT "system"."main"."__spiced"('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT public.__spiced('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT spice.public.__spiced('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT core.__spiced('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT 'x'.__spiced('y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT ('x').__spiced('y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT i.__spiced('y') FROM k
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT k.i.__spiced('y') FROM k
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT i::VARCHAR.__spiced('y') FROM k
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT lower('X').__spiced('y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT [1].__spiced('y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT __spiced('x', 'y') OVER ()
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT * FROM __spiced('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM k, __spiced('x', i::VARCHAR)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT list_transform(['x'], lambda x: __spiced(x, 'y'))
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT list_aggregate(['x'], '__spiced')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT list_aggr([1], '__spiced', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT __spiced /* */ ('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT __spiced--x
('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT try(__spiced('x', 'y'))
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT twice(__spiced('x', 'y'))
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT __spiced_table_1
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM __spiced_table_1
-- want: (refused|not_found|invalid_argument|parse_error): 
WITH __spiced_table_1 AS (FROM hidden) FROM tab((SELECT 1), 1)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT __internal_compress_integral_utinyint(1, 2)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT __spiced_once.x
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT core.same(1, 'x')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT spice.core.same(1, 'x')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT Core.Twice(1)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT k.core.twice() FROM k
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM core.tab('k', 1)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM spice.core.tab('k', 1)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT spiced.twice(1)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT spice.spiced.twice(1)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT att.main.twice(1)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT main.twice(1)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT system.main.twice(1)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT pg_catalog.twice(1)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT information_schema.twice(1)
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT spice.datafusion.twice(1)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref()
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref('x', 'y')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref(NULL)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref(1)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref($1)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref(?)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref('r_' || '1')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref(name := 'r_1')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref((SELECT 'r_1'))
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref(['r_1'])
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref('r_00000000000000000000000000000000')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref('')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref('../../etc/passwd')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref('r_1"; DROP TABLE k; --')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref('r_1'' ; DROP TABLE k; --')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref($$r_1$$)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref(E'r_\\x31')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref(k)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref(i)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM k, ref(i::VARCHAR)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM k, LATERAL ref(k.i::VARCHAR)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM public.ref('r_1')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM spice.public.ref('r_1')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM main.ref('r_1')
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM "REF"('r_1')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT ref('r_1')
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT 'r_1'.ref()
-- want: (refused|not_found|invalid_argument|parse_error): 
SELECT (FROM ref('r_1'))
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM tab(ref('r_1'), 1)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM tab((FROM ref('r_1')), 1)
-- want: (refused|not_found|invalid_argument|parse_error): 
FROM ref('r_1') JOIN ref('r_2') ON true
-- want: (refused|not_found|invalid_argument|parse_error): 
DESCRIBE FROM ref('r_1')
-- want: refused: attached database file
SELECT __source_1.main.leak()
-- want: refused: attached database file
SELECT "__source_1".leak() AS v
-- want: refused: attached database file
FROM __SOURCE_1.length('att.main.secret')
-- want: refused: attached database file
FROM __source_1.main.length('hidden')
-- want: refused: attached database file
SELECT __source_1.same('threads')
-- want: refused: attached database file
SELECT i.__source_1.same('threads') FROM k
-- want: refused: attached database file
EXPLAIN FROM __source_1.length('hidden')
-- want: refused: attached database file
SELECT enum_range(NULL::__source_1.main.mood)
-- want: refused: attached database file
SELECT typeof(CAST(NULL AS STRUCT(a "__source_1".mood[])))
-- want: refused: attached database file
SELECT __source_1.mood 'secret'
-- want: refused: make_type
SELECT make_type('__source_' || '1.main.mood')
-- want: refused: must be one text literal
SELECT from_json('"secret"', '"__source_1.main.mood"')
-- want: refused: must be one text literal
SELECT json_transform('"secret"', '"' || '__source_1.main.mood"')
-- want: refused: must be one text literal
SELECT j.from_json('"__source_1.main.mood"') FROM (SELECT '"secret"' AS j)
-- want: ok
SELECT from_json('{"a": 1}', '{"a": "INTEGER"}') AS v, j.json_transform('{"a": "INTEGER"}') AS w FROM (SELECT '{"a": 1}' AS j)

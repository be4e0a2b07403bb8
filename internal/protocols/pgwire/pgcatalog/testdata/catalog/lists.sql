SELECT n, x, y, s FROM (SELECT [oid::int, 8] AS a, ['x', 'y'] AS b FROM pg_namespace WHERE nspname = 'pg_catalog') i,
	pg_catalog.unnest(i.a, i.b) WITH ORDINALITY AS k(x, y, n), generate_subscripts(i.b, 1) s ORDER BY n, s

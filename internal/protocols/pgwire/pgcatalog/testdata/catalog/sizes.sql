SELECT pg_size_pretty(10239) AS a, pg_size_pretty(10240) AS b, pg_catalog.pg_size_pretty(1610612736) AS c, pg_size_pretty(-20480) AS d, pg_size_pretty(sum(i)) AS e, pg_size_pretty(NULL) AS f
FROM generate_series(1, 1000000) AS i

SELECT overlay('Txxxxas' PLACING 'hom' FROM 2 FOR 4) AS a, overlay('Txxxxas' PLACING 'hom' FROM 2) AS b, overlay('abcdef' PLACING 'X' FROM 4 FOR -2) AS c,
	'abc' ~* 'B' AS d, 'abc' !~* 'B' AS e, 'abc' ~* 'x' AS f, encode('\x1f20'::bytea, 'hex') AS g, octet_length(bytea '\x616263') AS h, octet_length(CAST('\x' AS bytea)) AS i,
	abs(extract(epoch FROM now() - current_timestamp(0))) <= 0.5 AS j, extract(microsecond FROM current_timestamp(0)) % 1000000 AS k, extract(microsecond FROM localtimestamp(3)) % 1000 AS l,
	current_timestamp(6) = now() AS m, '100%' LIKE '100\%' AS n, '100x' LIKE '100\%' AS o

SELECT v.contoencoding AS encid, pg_catalog.pg_encoding_to_char(v.contoencoding) AS encname
FROM pg_catalog.pg_conversion v GROUP BY v.contoencoding ORDER BY 2

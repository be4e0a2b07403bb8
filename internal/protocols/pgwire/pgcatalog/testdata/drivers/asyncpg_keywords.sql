select count(*) > 50 AS many from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs,absolute}'::text[])

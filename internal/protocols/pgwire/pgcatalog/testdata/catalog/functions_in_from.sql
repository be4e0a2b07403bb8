SELECT s.current_schema, d.*, left(v.version, 10) AS v FROM current_schema() AS s, current_database() d, version() v

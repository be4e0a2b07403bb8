SELECT a.* FROM pg_catalog.pg_stat_activity a WHERE a.state IS NULL OR a.state NOT LIKE 'idle%'

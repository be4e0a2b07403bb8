select extversion from pg_extension where extname = 'timescaledb'

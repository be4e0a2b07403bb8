select schema_name as "name" from information_schema.schemata
where schema_name not in ('information_schema', 'pg_catalog', '_timescaledb_cache', 'timescaledb_information') order by schema_name

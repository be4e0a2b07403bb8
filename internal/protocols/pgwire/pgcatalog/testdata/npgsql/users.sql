SELECT usename as user_name, usesysid as user_id FROM pg_catalog.pg_user

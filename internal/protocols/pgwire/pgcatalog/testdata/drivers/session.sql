SELECT version(), current_database(), current_schema(), current_user, session_user, pg_catalog.current_schemas(true), pg_is_in_recovery(), pg_backend_pid()

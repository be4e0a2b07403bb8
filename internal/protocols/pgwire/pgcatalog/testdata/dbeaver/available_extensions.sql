SELECT name, default_version, installed_version, comment FROM pg_catalog.pg_available_extensions ORDER BY name

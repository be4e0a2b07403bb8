SELECT DISTINCT connamespace FROM pg_catalog.pg_constraint WHERE confrelid = 472346800

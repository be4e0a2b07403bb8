SELECT * FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings'

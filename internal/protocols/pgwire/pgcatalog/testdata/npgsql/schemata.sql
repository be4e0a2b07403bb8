SELECT catalog_name, schema_name, schema_owner FROM information_schema.schemata

SELECT pg_catalog.pg_get_viewdef('1361229216'::pg_catalog.oid, true);

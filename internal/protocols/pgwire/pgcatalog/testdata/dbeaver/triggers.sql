SELECT g.oid, g.*, f.pronamespace AS func_schema_id, t.description
FROM pg_catalog.pg_trigger g
LEFT OUTER JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid
LEFT OUTER JOIN pg_catalog.pg_description t ON t.objoid = g.oid AND t.objsubid = 0
WHERE g.tgrelid = 472346800 AND NOT g.tgisinternal

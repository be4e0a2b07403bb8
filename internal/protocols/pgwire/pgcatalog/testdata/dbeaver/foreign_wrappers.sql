SELECT w.oid, w.*, f.pronamespace AS handler_schema_id
FROM pg_catalog.pg_foreign_data_wrapper w
LEFT OUTER JOIN pg_catalog.pg_proc f ON f.oid = w.fdwhandler
ORDER BY w.fdwname

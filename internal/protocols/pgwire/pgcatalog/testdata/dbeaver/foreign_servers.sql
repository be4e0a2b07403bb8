SELECT v.oid, v.* FROM pg_catalog.pg_foreign_server v ORDER BY v.srvname

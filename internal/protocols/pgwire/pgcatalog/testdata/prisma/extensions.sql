SELECT x.extname AS extension_name, x.extversion AS extension_version, x.extrelocatable AS extension_relocatable, s.nspname AS extension_schema
FROM pg_extension x INNER JOIN pg_namespace s ON x.extnamespace = s.oid ORDER BY x.extname ASC

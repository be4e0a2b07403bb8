SELECT t.typname AS name, s.nspname AS namespace FROM pg_type t JOIN pg_catalog.pg_namespace s ON s.oid = t.typnamespace
WHERE s.nspname = ANY ('{public,sales}') AND t.typtype = 'b' AND t.typinput::regproc::text <> 'array_in'

SELECT s.nspname AS namespace_name FROM pg_namespace AS s WHERE s.nspname = ANY ('{public,sales}') AND s.nspname <> 'crdb_internal' ORDER BY namespace_name;

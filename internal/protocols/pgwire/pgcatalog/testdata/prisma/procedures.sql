SELECT p.proname AS name, s.nspname AS namespace, CASE WHEN l.lanname = 'internal' THEN p.prosrc ELSE pg_get_functiondef(p.oid) END AS definition
FROM pg_proc p LEFT JOIN pg_namespace s ON p.pronamespace = s.oid LEFT JOIN pg_language l ON p.prolang = l.oid
WHERE s.nspname = ANY ('{public,sales}') ORDER BY name

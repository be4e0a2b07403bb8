SELECT p.proname, n.nspname FROM pg_proc p LEFT JOIN pg_namespace n ON n.nspname = ANY (p.proargnames) WHERE 20 = ANY (p.proargtypes) OR 'lat' = ANY (proargnames) ORDER BY 1

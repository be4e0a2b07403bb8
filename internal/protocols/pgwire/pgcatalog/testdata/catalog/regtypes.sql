SELECT proname, COALESCE(proallargtypes::regtype[], proargtypes::regtype[])::text[] AS args, prorettype::regtype::text AS result
FROM pg_catalog.pg_proc WHERE prorettype::regtype != 'trigger'::regtype AND pronamespace::regnamespace = 'public'::regnamespace ORDER BY 1

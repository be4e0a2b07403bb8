SELECT proname, oid, prorettype, proargtypes, proargnames, proretset, provolatile FROM pg_proc ORDER BY 1

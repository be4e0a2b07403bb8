SELECT w.oid, w.*, pg_get_ruledef(w.oid) AS definition
FROM pg_rewrite w WHERE w.ev_class = 472346800 AND w.rulename <> '_RETURN'::name

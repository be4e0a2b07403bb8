SELECT DISTINCT k.deptype, k.classid, k.objid, r.relkind, f.attname, pg_get_expr(v.adbin, v.adrelid) AS adefval,
    CASE WHEN r.relkind IS NOT NULL THEN r.relkind::text || coalesce(k.objsubid::text, '')::text
        WHEN g.oid IS NOT NULL THEN 'T'::text
        WHEN y.oid IS NOT NULL THEN 'y'::text
        WHEN s.oid IS NOT NULL THEN 'n'::text
        WHEN p.oid IS NOT NULL THEN 'p'::text
        WHEN l.oid IS NOT NULL THEN 'l'::text
        WHEN w.oid IS NOT NULL THEN 'R'::text
        WHEN n.oid IS NOT NULL THEN 'C'::text || contype::text
        WHEN v.oid IS NOT NULL THEN 'A'::text
        ELSE '' END AS type,
    coalesce(nr.relname, wr.relname, gr.relname) AS ownertable,
    CASE WHEN r.relname IS NOT NULL AND c.attname IS NOT NULL THEN r.relname || '.' || c.attname
        ELSE coalesce(r.relname, n.conname, p.proname, g.tgname, y.typname, l.lanname, w.rulename, s.nspname) END AS refname,
    coalesce(rs.nspname, ns.nspname, ps.nspname, ys.nspname, ws.nspname, gs.nspname) AS nspname
FROM pg_depend k
LEFT JOIN pg_class r ON k.objid = r.oid
LEFT JOIN pg_attribute c ON k.objid = c.attrelid AND k.objsubid = c.attnum
LEFT JOIN pg_namespace rs ON r.relnamespace = rs.oid
LEFT JOIN pg_proc p ON k.objid = p.oid
LEFT JOIN pg_namespace ps ON p.pronamespace = ps.oid
LEFT JOIN pg_trigger g ON k.objid = g.oid
LEFT JOIN pg_class gr ON g.tgrelid = gr.oid
LEFT JOIN pg_namespace gs ON gr.relnamespace = gs.oid
LEFT JOIN pg_type y ON k.objid = y.oid
LEFT JOIN pg_namespace ys ON y.typnamespace = ys.oid
LEFT JOIN pg_constraint n ON k.objid = n.oid
LEFT JOIN pg_class nr ON n.conrelid = nr.oid
LEFT JOIN pg_namespace ns ON n.connamespace = ns.oid
LEFT JOIN pg_rewrite w ON k.objid = w.oid
LEFT JOIN pg_class wr ON wr.oid = w.ev_class
LEFT JOIN pg_namespace ws ON wr.relnamespace = ws.oid
LEFT JOIN pg_language l ON k.objid = l.oid
LEFT JOIN pg_namespace s ON k.objid = s.oid
LEFT JOIN pg_attrdef v ON v.oid = k.objid
LEFT JOIN pg_attribute f ON f.attrelid = v.adrelid AND f.attnum = v.adnum
WHERE k.refobjid = 472346800
ORDER BY type

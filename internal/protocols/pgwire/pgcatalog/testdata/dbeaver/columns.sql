SELECT r.relname, f.*, pg_catalog.pg_get_expr(v.adbin, v.adrelid, true) AS def_value, t.description, k.objid
FROM pg_catalog.pg_attribute f
INNER JOIN pg_catalog.pg_class r ON (f.attrelid = r.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef v ON (f.attrelid = v.adrelid AND f.attnum = v.adnum)
LEFT OUTER JOIN pg_catalog.pg_description t ON (r.oid = t.objoid AND f.attnum = t.objsubid)
LEFT OUTER JOIN pg_depend k ON k.refobjid = f.attrelid AND k.deptype = 'i' AND k.refobjsubid = f.attnum AND k.classid = k.refclassid
WHERE NOT f.attisdropped AND r.relkind NOT IN ('i', 'I', 'c') AND r.oid = 472346800
ORDER BY f.attnum

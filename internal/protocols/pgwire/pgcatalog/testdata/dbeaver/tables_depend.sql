SELECT r.oid, r.relname, k.objid, k.refobjsubid
FROM pg_catalog.pg_class r
LEFT OUTER JOIN pg_depend k ON k.refobjid = r."oid" AND k.deptype = 'i' AND k.refobjsubid <> 0 AND k.classid = k.refclassid
WHERE r.relnamespace = 2200 AND r.relkind NOT IN ('i', 'I', 'c') AND relname = 'orders'

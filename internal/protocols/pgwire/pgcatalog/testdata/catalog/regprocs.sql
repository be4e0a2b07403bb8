SELECT t.typname, t.typreceive, t.typreceive::oid AS oid, p.proname, p.prorettype::regtype, p.proargtypes
FROM pg_type t JOIN pg_proc p ON t.typreceive = p.oid AND p.oid = t.typreceive
WHERE t.typreceive <> 0 AND 0 <> t.typinput AND t.typinput = 'boolin'::regproc OR t.typoutput IN ('array_out') AND t.oid = 1000 AND p.oid = (SELECT typreceive FROM pg_type WHERE typname = '_int4')::regproc::oid
ORDER BY t.oid

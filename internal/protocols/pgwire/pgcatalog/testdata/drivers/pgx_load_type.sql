select oid, typname, typtype, typelem, typarray from pg_type where oid = '_numeric'::text::regtype::oid

SELECT 23 = ANY ('{int,int8}'::regtype[]) AS yes, 25 = ANY ('{int,int8}'::regtype[]) AS no, 'int'::regtype::oid AS int, 'decimal'::regtype::oid AS dec FROM pg_type LIMIT 1

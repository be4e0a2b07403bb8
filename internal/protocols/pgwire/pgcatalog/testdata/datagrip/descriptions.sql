select D.objoid id, case
    when 'r' = C.relkind then 'x' else C.relkind end as kind,
       D.objsubid sub_id, D.description
from pg_catalog.pg_description D
  join pg_catalog.pg_class C on D.objoid = C.oid
where C.relnamespace = 2200::oid and C.relkind != 'c' and D.classoid = 'pg_catalog.pg_class'::regclass
union all
select T.oid id, case when T.typtype = 'd' then 'd' else 'T' end as kind, null sub_id, D.description
from pg_catalog.pg_description D join pg_catalog.pg_type T on T.oid = D.objoid or T.typrelid = D.objoid left join pg_catalog.pg_class C on T.typrelid = C.oid
where T.typnamespace = 2200::oid and (C.relkind = 'c' or C.relkind is null)

with system_languages as ( select oid as lang from pg_catalog.pg_language where lanname in ('c','internal') )
select oid as id, pg_catalog.pg_get_function_arguments(oid) as arguments_def, pg_catalog.pg_get_function_result(oid) as result_def,
       pg_catalog.pg_get_function_sqlbody(oid) as sqlbody_def, prosrc as source_text
from pg_catalog.pg_proc
where pronamespace = 2200::oid
  and pg_catalog.age(xmin) <= coalesce(nullif(greatest(pg_catalog.age('1'::varchar::xid), -1), -1), 2147483647)
  and not (prokind = 'a')
  and prolang not in (select lang from system_languages)
  and prosrc is not null

select fdw.oid as id, fdw.xmin as state_number, fdw.fdwname as name, pr.proname as handler, nspc.nspname as handler_schema, fdw.fdwoptions as options
from pg_catalog.pg_foreign_data_wrapper fdw
       left outer join pg_catalog.pg_proc pr on fdw.fdwhandler = pr.oid
       left outer join pg_catalog.pg_namespace nspc on pr.pronamespace = nspc.oid

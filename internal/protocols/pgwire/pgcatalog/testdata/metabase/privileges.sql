with granted as (
  select null as role, o.schemaname as schema, o.name as table,
    pg_catalog.has_any_column_privilege(current_user, format('%I.%I', o.schemaname, o.name), 'select') as select,
    pg_catalog.has_any_column_privilege(current_user, '"' || replace(o.schemaname, '"', '""') || '"' || '.' || '"' || replace(o.name, '"', '""') || '"', 'insert') as insert,
    pg_catalog.has_any_column_privilege(current_user, '"' || replace(o.schemaname, '"', '""') || '"' || '.' || '"' || replace(o.name, '"', '""') || '"', 'update') as update,
    pg_catalog.has_table_privilege(current_user, '"' || replace(o.schemaname, '"', '""') || '"' || '.' || '"' || replace(o.name, '"', '""') || '"', 'delete') as delete
  from (select schemaname, tablename as name from pg_catalog.pg_tables
    union select schemaname, viewname as name from pg_catalog.pg_views
    union select schemaname, matviewname as name from pg_catalog.pg_matviews) o
  where o.schemaname !~ '^pg_' and o.schemaname <> 'information_schema'
    and pg_catalog.has_schema_privilege(current_user, o.schemaname, 'usage')
)
select g.* from granted g order by g.schema, g.table

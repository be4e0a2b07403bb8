select case when quote_ident(table_schema) in (
  select case when trim(s[i]) = '"$user"' then user else trim(s[i]) end
  from generate_series(
      array_lower(string_to_array(current_setting('search_path'), ','), 1),
      array_upper(string_to_array(current_setting('search_path'), ','), 1)) as i,
    string_to_array(current_setting('search_path'), ',') s)
  then quote_ident(table_name) else quote_ident(table_schema) || '.' || quote_ident(table_name) end as "table"
from information_schema.tables
where quote_ident(table_schema) not in ('information_schema', 'pg_catalog', '_timescaledb_cache', 'timescaledb_information')
order by case when quote_ident(table_schema) in (
  select case when trim(s[i]) = '"$user"' then user else trim(s[i]) end
  from generate_series(
      array_lower(string_to_array(current_setting('search_path'), ','), 1),
      array_upper(string_to_array(current_setting('search_path'), ','), 1)) as i,
    string_to_array(current_setting('search_path'), ',') s) then 0 else 1 end, 1

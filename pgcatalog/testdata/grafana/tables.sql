select quote_ident(table_name) as "table" from information_schema.tables
    where quote_ident(table_schema) not in ('information_schema',
                             'pg_catalog',
                             '_timescaledb_cache',
                             '_timescaledb_catalog',
                             '_timescaledb_internal',
                             '_timescaledb_config',
                             'timescaledb_information',
                             'timescaledb_experimental')
      and table_type = 'BASE TABLE' and
      quote_ident(table_schema) IN (
          SELECT
          CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
              generate_series(
                              array_lower(string_to_array(current_setting('search_path'),','),1),
                              array_upper(string_to_array(current_setting('search_path'),','),1)
              ) as i,
              string_to_array(current_setting('search_path'),',') s
          )

select quote_ident(column_name) as "column", data_type as "type" from information_schema.columns
where case when array_length(parse_ident('sales.totals'), 1) = 2
  then quote_ident(table_schema) = (parse_ident('sales.totals'))[1] and quote_ident(table_name) = (parse_ident('sales.totals'))[2]
  else quote_ident(table_name) = 'sales.totals' and quote_ident(table_schema) in (
  select case when trim(s[i]) = '"$user"' then user else trim(s[i]) end
  from generate_series(
      array_lower(string_to_array(current_setting('search_path'), ','), 1),
      array_upper(string_to_array(current_setting('search_path'), ','), 1)) as i,
    string_to_array(current_setting('search_path'), ',') s)
  end

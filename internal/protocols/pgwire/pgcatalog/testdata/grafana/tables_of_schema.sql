select quote_ident(table_name) as "table" from information_schema.tables
where quote_ident(table_schema) = 'sales' order by 1

SELECT relname FROM pg_class WHERE relkind = ANY('{r,v,""}') AND relnamespace::regnamespace <> 'spiced'::regnamespace ORDER BY 1

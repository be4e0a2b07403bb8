SELECT * FROM pg_catalog.pg_policies WHERE schemaname = 'public' AND tablename = 'orders'

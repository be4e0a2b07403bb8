SELECT c.column_name AS "Field", (SELECT pgd.description FROM pg_catalog.pg_statio_all_tables AS st INNER JOIN pg_catalog.pg_description pgd ON pgd.objoid = st.relid
WHERE c.ordinal_position = pgd.objsubid AND c.table_name = st.relname) AS "Comment" FROM information_schema.columns c WHERE table_name = 'orders' ORDER BY 1

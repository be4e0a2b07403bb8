SELECT "from_ns"."nspname" AS "from-schema", "from_table"."relname" AS "from-table", "from_column"."attname" AS "from-column", "to_table"."relname" AS "to-table", "to_column"."attname" AS "to-column"
FROM "pg_constraint" AS "k"
INNER JOIN "pg_class" AS "from_table" ON "k"."conrelid" = "from_table"."oid"
INNER JOIN "pg_namespace" AS "from_ns" ON "k"."connamespace" = "from_ns"."oid"
INNER JOIN "pg_attribute" AS "from_column" ON "k"."conrelid" = "from_column"."attrelid"
INNER JOIN "pg_class" AS "to_table" ON "k"."confrelid" = "to_table"."oid"
INNER JOIN "pg_attribute" AS "to_column" ON "k"."confrelid" = "to_column"."attrelid"
WHERE (from_ns.nspname !~ '^information_schema|pg_') AND ("k"."contype" = 'f'::char) AND ("from_column"."attnum" = ANY(k.conkey)) AND ("to_column"."attnum" = ANY(k.confkey))
ORDER BY "from-schema" ASC, "from-table" ASC

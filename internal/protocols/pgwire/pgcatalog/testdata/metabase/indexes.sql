SELECT "x"."schema", "x"."table", TRIM(BOTH '"' FROM "pg_catalog"."pg_get_indexdef"("x"."index", "x"."place", FALSE)) AS "column"
FROM (
  SELECT "n"."nspname" AS "schema", "t"."relname" AS "table", "c"."oid" AS "index", (INFORMATION_SCHEMA._PG_EXPANDARRAY("i"."indkey"))."n" AS "place"
  FROM "pg_catalog"."pg_class" AS "t"
  INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "t"."relnamespace" = "n"."oid"
  INNER JOIN "pg_catalog"."pg_index" AS "i" ON "t"."oid" = "i"."indrelid"
  INNER JOIN "pg_catalog"."pg_class" AS "c" ON "c"."oid" = "i"."indexrelid"
  WHERE "pg_catalog"."pg_get_expr"("i"."indpred", "i"."indrelid") IS NULL AND (n.nspname !~ '^information_schema|pg_')
) AS "x" WHERE "x"."place" = 1

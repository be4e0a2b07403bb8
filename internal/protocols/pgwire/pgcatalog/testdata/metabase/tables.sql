SELECT "n"."nspname" AS "schema", "c"."relname" AS "name",
  CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS "type",
  "d"."description" AS "description", "s"."n_live_tup" AS "rows"
FROM "pg_catalog"."pg_class" AS "c"
INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid"
LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = 0) AND ("d"."classoid" = 'pg_class'::regclass)
LEFT JOIN "pg_stat_user_tables" AS "s" ON ("n"."nspname" = "s"."schemaname") AND ("c"."relname" = "s"."relname")
WHERE ("n"."nspname" !~ '^pg_') AND ("n"."nspname" <> 'information_schema') AND (c.relkind in ('r', 'v', 'm')) AND ("n"."nspname" IN ('public', 'sales'))
ORDER BY "type" ASC, "schema" ASC, "name" ASC

SELECT v.*, t.description
FROM pg_catalog.pg_event_trigger v
LEFT OUTER JOIN pg_catalog.pg_description t ON v."oid" = t.objoid

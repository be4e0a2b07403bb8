SELECT description FROM pg_shdescription
JOIN pg_database ON objoid = pg_database.oid
WHERE datname = 'spice'
